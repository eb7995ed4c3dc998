import numpy as np
import torch

data = [[1, 2], [3, 4]]
x = torch.tensor(data)
print(x, x.dtype, x.shape)
a = np.array(data)
shared = torch.from_numpy(a)
ones = torch.ones_like(x)
torch.manual_seed(0)
drawn = torch.rand_like(x, dtype=torch.float)
print(ones, drawn)
tensor = torch.ones(4, 4)
print(tensor[0], tensor[:, 0], tensor[..., -1])
tensor[:, 1] = 0
print(tensor)
print(torch.cat([tensor, tensor], dim=1).shape)
y1 = tensor @ tensor.T
y2 = tensor.matmul(tensor.T)
y3 = torch.empty_like(tensor)
torch.matmul(tensor, tensor.T, out=y3)
print(torch.equal(y1, y2), torch.equal(y1, y3))
total = (tensor * tensor).sum()
print(total.item(), type(total.item()))
tensor.add_(5)
print(tensor)
np.add(a, 1, out=a)
print(shared)
t = torch.ones(3)
n = t.numpy()
t.add_(1)
print(n)
