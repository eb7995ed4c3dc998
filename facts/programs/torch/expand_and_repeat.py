import torch

x = torch.tensor([[1.0], [2.0]])
e = x.expand(2, 3)
print(e, e.stride())
try:
    e += 1
except RuntimeError as error:
    print(str(error)[:60])
r = x.repeat(1, 3)
r += 1
print(r, x)
