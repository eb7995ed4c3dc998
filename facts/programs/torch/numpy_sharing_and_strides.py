import numpy as np
import torch

a = np.arange(6.0).reshape(2, 3)
t = torch.from_numpy(a)
a[0, 0] = 50
t[1, 2] = -1
print(t, a)
r = a[:, ::2]
s = torch.from_numpy(r)
s.mul_(2)
print(a, s.stride(), s.is_contiguous())
try:
    torch.from_numpy(a[::-1])
except ValueError as error:
    print("negative")
c = torch.tensor(a)
c.zero_()
print(a.sum())
w = torch.ones(3, requires_grad=True)
try:
    w.numpy()
except RuntimeError as error:
    print(str(error).splitlines()[0])
n = w.detach().numpy()
n[0] = 9
print(w)
y = torch.as_tensor(a)
print(y.data_ptr() == t.data_ptr(), y.dtype)
ro = np.ones(2)
ro.flags.writeable = False
print(t.numpy().base is not None, t.T.numpy().strides)
u = torch.from_numpy(np.array(3.5))
print(u, u.shape, u.item())
e = torch.from_numpy(np.zeros((0, 3), dtype=np.int64))
print(e.shape, e.dtype, e.sum(), e.numel())
k = torch.tensor(np.array([1, 2], dtype=np.int32))
print(k.dtype, torch.tensor(np.float64(1.5)).dtype, torch.tensor([np.float64(1.5)]).dtype)
lst = t.tolist()
lst[0][0] = None
print(t[0, 0])
