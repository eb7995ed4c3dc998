import torch
from torch import nn, optim


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 2, bias=False)
        self.same = self.first
        self.tied = nn.Linear(2, 2, bias=False)
        self.tied.weight = self.first.weight
        self.register_buffer("seen", torch.zeros(1))
        self.register_buffer("scratch", torch.zeros(1), persistent=False)


model = Tied()
print(list(model.state_dict()), [name for name, _ in model.named_parameters()])
print(model.load_state_dict({name: torch.ones_like(value) for name, value in model.state_dict().items()}))
print(model.tied.weight is model.first.weight, model.seen)
print(list(model.state_dict(prefix="net.")))

w = torch.ones(2, requires_grad=True)
one = optim.SGD([w], lr=0.1, momentum=0.9)
(w * w).sum().backward()
one.step()
two = optim.SGD([w], lr=0.5, momentum=0.9)
two.load_state_dict(one.state_dict())
mine, theirs = one.state[w]["momentum_buffer"], two.state[w]["momentum_buffer"]
print(mine is theirs, two.param_groups[0]["lr"])
two.step()
print(mine)
kept = one.state_dict()
one.step()
print(kept["state"][0]["momentum_buffer"])

net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 3))
try:
    net.load_state_dict({"0.weight": torch.ones(3, 3), "0.bias": torch.ones(1), "z": torch.ones(1), "y": torch.ones(1)})
except RuntimeError as error:
    print(error)
given = torch.zeros(1, 2)
line = nn.Linear(2, 1)
line.load_state_dict({"weight": given, "bias": torch.zeros(1)}, assign=True)
given.fill_(5.0)
print(line.weight)
