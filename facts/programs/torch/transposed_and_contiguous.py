import torch

torch.manual_seed(1)
x = torch.tensor([[1., 2.], [3., 4.]], requires_grad=True)
y = x.t()
print(y.is_contiguous(), y.stride())
z = y.contiguous()
z.sum().backward()
print(x.grad)
try: y.view(4)
except RuntimeError as error: print(error)
print(y.reshape(4))
v = x.detach().view(-1)
v[0] = 100
print(x)
