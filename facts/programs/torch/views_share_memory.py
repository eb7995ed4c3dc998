import torch

x = torch.arange(6)
y = x.view(2, 3)
y[0, 0] = 100
print(x)
z = x[2:4]
z.fill_(0)
print(x, y)
print(x.data_ptr() == y.data_ptr(), z.storage_offset())
print(y.t().is_contiguous(), y.t().stride())
try:
    y.t().view(6)
except RuntimeError as error:
    print("view refused")
r = y.t().reshape(6)
r[0] = -5
print(x)
print(y.t().contiguous().stride())
