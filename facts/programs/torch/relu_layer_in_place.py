import torch
from torch import nn

torch.manual_seed(1)
x = torch.ones(3, requires_grad=True)
r = nn.ReLU(inplace=True)
y = x * 2
z = r(y)
print(z is y)
z.sum().backward()
print(x.grad)
y = x.sigmoid()
r(y)
try: y.sum().backward()
except RuntimeError as e: print(str(e).split(' is at')[0])
try: r(x)
except RuntimeError as e: print(str(e).split(chr(10))[0])
