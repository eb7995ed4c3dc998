import torch

w = torch.ones(1, requires_grad=True)
losses = []
total = 0
for i in range(4):
    loss = (w * i) ** 2
    losses.append(loss)
    total += loss
print(losses)
print(total)
torch.stack(losses).sum().backward()
print(w.grad)
print(sum(l.item() for l in losses))
