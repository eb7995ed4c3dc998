import numpy as np
import torch

a = np.ones(3)
t = torch.from_numpy(a)
a += 1
print(t)
t.mul_(10)
print(a)
c = torch.tensor(a)
a[0] = -1
print(c, t)
x = torch.ones(2, 2)
n = x.numpy()
x[0, 0] = 7
print(n)
print(type(n), n.dtype, t.dtype)
w = torch.ones(2, requires_grad=True)
try:
    w.numpy()
except RuntimeError as error:
    print(error)
print(w.detach().numpy())
