import torch

torch.manual_seed(1)
x = torch.randn(3, requires_grad=True)
try: x.add_(1)
except RuntimeError as e: print(str(e).split(chr(10))[0])
try: x[0] = 1
except RuntimeError as e: print(str(e).split(chr(10))[0])
try: x.view(-1).mul_(2)
except RuntimeError as e: print(str(e).split(chr(10))[0])
try: x.data.mul_(0); print(x)
except RuntimeError as error: print(error)
with torch.no_grad(): x += 1; print(x, x.requires_grad, x.is_leaf)
x = x + 0
x += 1
print(x.requires_grad, x.is_leaf, x.grad_fn.name())
