import torch
from torch import nn

model = nn.Linear(2, 1)
with torch.no_grad():
    model.weight.copy_(torch.tensor([[0.5, -0.5]]))
    model.bias.zero_()
data = torch.arange(16.0).reshape(8, 2) / 10
target = data.sum(1, keepdim=True)
whole = nn.MSELoss()(model(data), target)
whole.backward()
reference = [p.grad.clone() for p in model.parameters()]
model.zero_grad()
print([p.grad for p in model.parameters()])
for part, goal in zip(data.split(3), target.split(3)):
    loss = nn.functional.mse_loss(model(part), goal, reduction="sum") / len(data)
    loss.backward()
print([torch.allclose(p.grad, r) for p, r in zip(model.parameters(), reference)])
print(model.weight.grad)
model.zero_grad(set_to_none=False)
print(model.weight.grad, model.weight.grad._version)
total = 0
for part, goal in zip(torch.chunk(data, 3), torch.chunk(target, 3)):
    total = total + (model(part) - goal).abs().sum()
total.backward()
print(total, model.bias.grad)
