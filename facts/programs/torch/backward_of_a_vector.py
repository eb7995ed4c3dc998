import torch

x = torch.ones(2, requires_grad=True)
y = x * 2
try:
    y.backward()
except RuntimeError as error:
    print(error)
y.backward(torch.tensor([1.0, 10.0]))
print(x.grad)
