import torch

w = torch.tensor([1.0, -2.0], requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True)
for i in range(4):
    opt.zero_grad(set_to_none=False)
    (w ** 2).sum().backward()
    opt.step()
    print(w.detach())
print(opt)
