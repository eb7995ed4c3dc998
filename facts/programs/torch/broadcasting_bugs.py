import torch
import torch.nn.functional as F

pred = torch.tensor([[1.0], [2.0], [3.0]], requires_grad=True)
target = torch.tensor([1.0, 2.0, 3.0])
loss = ((pred - target) ** 2).mean()
loss.backward()
print(loss, pred.grad.T)
print(((pred.squeeze() - target) ** 2).mean())
bias = torch.zeros(3, requires_grad=True)
(pred + bias).sum().backward()
print(bias.grad)
acc = torch.zeros(3)
try:
    acc += torch.ones(2, 3)
except RuntimeError as error:
    print(str(error).splitlines()[0])
col = torch.zeros(3, 1)
row = torch.arange(3.0)
try:
    col += row
except RuntimeError as error:
    print(str(error).splitlines()[0])
col = col + row
print(col)
m = torch.ones(2, 3)
m -= m.mean(1)[:, None]
print(m, torch.ones(2, 3).sub(torch.tensor(1)).sum())
print((torch.ones(3, 1) == torch.ones(3)).shape, torch.ones(0, 3).add(torch.ones(3)).shape)
scale = torch.tensor(2.0, requires_grad=True)
out = F.mse_loss(scale * torch.ones(2, 2), torch.zeros(2, 2))
out.backward()
print(scale.grad)
try:
    torch.ones(2, 3) + torch.ones(2)
except RuntimeError as error:
    print(str(error).splitlines()[0])
