import torch

print(torch.arange(12.0).reshape(3, 4))
print(torch.tensor([1.5, 1e-5, 1e5]))
print(torch.tensor([[0.1, 100.0], [float("inf"), float("nan")]]))
print(torch.zeros(2, 2, 2))
print(torch.tensor(3), torch.tensor(3.14159), torch.tensor([]))
print(torch.arange(1100))
print(torch.tensor([True, False]))
x = torch.ones(2, requires_grad=True)
print(x, x * 2, (x * 2).sum())
print(f"{x.sum():.3f}", x[0].item(), x.tolist())
