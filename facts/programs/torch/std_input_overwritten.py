import torch

x = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
y = x * 1
s = y.std()
y += 1
s.backward()
print(x.grad)
