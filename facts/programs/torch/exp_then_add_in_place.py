import torch

torch.manual_seed(1)
x = torch.ones(2, requires_grad=True)
y = x.exp()
y.add_(1)
try: y.sum().backward()
except RuntimeError as e: print(str(e).split('Hint')[0])
print(x.grad)
y = x.exp()
y = y.add(1)
y.sum().backward()
print(x.grad)
