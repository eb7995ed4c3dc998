import torch

w = torch.ones(2, requires_grad=True)
for i in range(3):
    loss = (w * (i + 1)).sum()
    loss.backward()
    print(w.grad)
w.grad.zero_()
(w * 5).sum().backward()
print(w.grad)
