import paddle
import paddle.nn as nn


class Tied(nn.Layer):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 2, bias_attr=False)
        self.same = self.first
        self.tied = nn.Linear(2, 2, bias_attr=False)
        self.tied.weight = self.first.weight
        self.register_buffer("seen", paddle.zeros([1]))
        self.register_buffer("scratch", paddle.zeros([1]), persistable=False)


model = Tied()
print(list(model.state_dict()), [name for name, _ in model.named_parameters()])
ones = {name: paddle.ones_like(value) for name, value in model.state_dict().items()}
print(model.set_state_dict(ones))
print(model.tied.weight is model.first.weight, model.seen.tolist())
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 3))
print(net.set_state_dict({"0.weight": paddle.ones([2, 2]), "more": paddle.ones([1])}))
print(net[0].weight.tolist())
