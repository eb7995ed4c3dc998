import torch

w = torch.tensor([1.0, -2.0], requires_grad=True)
opt = torch.optim.AdamW([w], lr=0.1, weight_decay=0.1, amsgrad=True)
for i in range(3):
    opt.zero_grad()
    (w ** 4).sum().backward()
    opt.step()
print(w)
