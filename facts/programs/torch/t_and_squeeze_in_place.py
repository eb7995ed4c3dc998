import torch

x = torch.arange(6.0).reshape(2, 3)
y = x
x.t_()
print(y.shape, y.stride())
x.unsqueeze_(0)
print(y.shape)
x.squeeze_()
print(y.shape, y)
x.resize_(2, 2)
print(x.shape)
