import torch

x = torch.arange(6.0).reshape(2, 3)
print(x.sum(dim=1, keepdims=True))
print(x.sum(axis=0), x.mean(1, keepdim=True))
print(x / x.sum(dim=1, keepdim=True))
print(x.std(), x.var(dim=0), x.norm(), x.norm(0), x.norm(dim=1))
print(x.clamp(min=torch.tensor([1.0, 1.0, 4.0])))
