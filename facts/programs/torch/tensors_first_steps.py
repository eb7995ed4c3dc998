import torch

x = torch.tensor([[1, 2, 3], [4, 5, 6]], dtype=torch.float32)
print(x)
print(x.shape, x.dtype, x.device)
print(x[0], x[:, 1], x[-1, -1])
print(x.T)
print(x + 10, x * x, x @ x.T)
print(x.sum(), x.mean(dim=0), x.max(dim=1))
y = torch.zeros_like(x)
y[0, 1:] = 5
print(y)
print(torch.cat([x, y]), torch.stack([x, y]).shape)
