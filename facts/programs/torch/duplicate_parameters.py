import torch

w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w, w], lr=0.1)
w.sum().backward()
opt.step()
print(w)
