import torch

torch.manual_seed(1)
x = torch.arange(12.).view(3, 4)
print(x.sum(0), x.mean(1), x.max(1), x.min(0).indices, x.argmax(), x.std(), x.var(1), x.norm(), x.cumsum(1), x.prod())
print(x.max(), torch.max(x, dim=0, keepdim=True).values.shape, x.sum(dim=(0, 1)), x.any(), x.all(dim=1))
v, i = x.topk(2, dim=1)
print(v, i)
print(x.sort(descending=True)[0][0])
print(x.flip(1)[0])
print(x.roll(1, 0)[0])
