import torch

torch.manual_seed(1)
losses = []
w = torch.zeros(1, requires_grad=True)
opt = torch.optim.Adam([w], lr=0.5)
for i in range(3):
    opt.zero_grad(); loss = (w - 3) ** 2; loss.backward(); opt.step(); losses.append(loss)
print(losses)
print([l.item() for l in losses])
print(sum(losses))
total = 0
for l in losses: total += l
print(total)
