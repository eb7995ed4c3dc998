import torch

w = torch.tensor([1.0, 2.0], requires_grad=True)
curve = []
opt = torch.optim.SGD([w], lr=0.25)
for i in range(3):
    curve.append(w.detach().numpy())
    opt.zero_grad()
    (w ** 2).sum().backward()
    opt.step()
print(curve)
curve = []
for i in range(2):
    curve.append(w.detach().clone().numpy())
    opt.zero_grad()
    (w ** 2).sum().backward()
    opt.step()
print(curve)
