import torch

w = torch.tensor([1.0, 2.0], requires_grad=True)
y = (w * w).sum()
with torch.no_grad():
    w.mul_(10)
print(w)
y.backward()
