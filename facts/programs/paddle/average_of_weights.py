import copy

import paddle
from paddle import nn

model = nn.Linear(2, 1)
model.weight.set_value(paddle.to_tensor([[0.5], [-0.5]]))
model.bias.set_value(paddle.zeros([1]))
ema = copy.deepcopy(model)
for p in ema.parameters():
    p.stop_gradient = True
opt = paddle.optimizer.Momentum(0.1, 0.9, parameters=model.parameters(), use_nesterov=True)
x = paddle.to_tensor([[1.0, 2.0], [3.0, -1.0], [0.0, 0.5]])
for _ in range(4):
    loss = ((model(x) - 1) ** 2).mean()
    opt.clear_grad()
    loss.backward()
    opt.step()
    with paddle.no_grad():
        for a, b in zip(ema.parameters(), model.parameters()):
            a.set_value(a * 0.9 + b * 0.1)
    print(round(loss.item(), 5), ema.weight.numpy().T, ema.bias.numpy())
print(model.weight.numpy().T, ema.weight.stop_gradient, model.weight.stop_gradient)
state = ema.state_dict()
state["weight"][0] = 100.0
print(ema.weight.numpy().T)
model.set_state_dict({k: v.clone() for k, v in state.items()})
print(model.weight.numpy().T)
