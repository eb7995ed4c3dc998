import torch

x = torch.arange(5.0)
try:
    x[1:] += x[:-1]
except RuntimeError as error:
    print(str(error)[:60])
x[1:] += x[:-1].clone()
print(x)
