import torch

x = torch.tensor(2.0, requires_grad=True)
y = x ** 3 + 2 * x
print(y)
y.backward()
print(x.grad)
print(y.grad_fn, x.grad_fn, x.is_leaf, y.is_leaf)
