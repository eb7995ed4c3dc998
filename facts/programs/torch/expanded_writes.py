import torch

torch.manual_seed(1)
x = torch.ones(2, 2)
y = x.expand(2, 2, 2)
print(y.shape, y.stride())
try: y.add_(1)
except RuntimeError as e: print(str(e).split(chr(10))[0])
y = x.repeat(2, 1)
y[0] = 5
print(x, y)
