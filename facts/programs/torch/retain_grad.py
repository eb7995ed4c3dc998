import torch

x = torch.ones(2, requires_grad=True)
y = x * 2
y.retain_grad()
z = (y * y).sum()
z.backward(retain_graph=True)
print(y.grad, x.grad)
kept = y.grad
z.backward()
print(kept, y.grad, x.grad)
