import torch

w = torch.tensor([1.0, -1.0], requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
grads = []
for step in range(3):
    opt.zero_grad()
    ((w - 3) ** 2).sum().backward()
    grads.append(w.grad)
    opt.step()
print(grads)
print(w)
