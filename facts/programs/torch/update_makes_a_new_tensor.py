import torch

w = torch.ones(2, requires_grad=True)
loss = (w * w).sum()
loss.backward()
w = w - 0.1 * w.grad
print(w, w.is_leaf)
(w * w).sum().backward()
print(w.grad)
