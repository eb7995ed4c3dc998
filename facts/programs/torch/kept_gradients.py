import torch

w = torch.ones(2, requires_grad=True)
saved = []
for i in range(3):
    (w * (i + 1)).sum().backward()
    saved.append(w.grad)
print(saved)
print(saved[0] is saved[2])
opt = torch.optim.SGD([w], lr=0.1)
opt.zero_grad(set_to_none=False)
print(saved[0], w.grad)
opt.zero_grad()
print(saved[0], w.grad)
(w * 7).sum().backward()
print(saved[0], w.grad)
