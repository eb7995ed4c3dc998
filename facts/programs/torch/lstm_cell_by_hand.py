import torch

torch.manual_seed(1)
n, h = 3, 4
W = (torch.arange(4 * h * (n + h), dtype=torch.float32).reshape(4 * h, n + h) % 7 - 3) / 10
W.requires_grad_()
b = torch.zeros(4 * h, requires_grad=True)
x = torch.linspace(-1, 1, 5 * 2 * n).reshape(5, 2, n)
state = torch.zeros(2, h), torch.zeros(2, h)
outs = []
for step in x:
    i, f, g, o = (torch.cat([step, state[0]], dim=1) @ W.T + b).chunk(4, dim=1)
    c = torch.sigmoid(f) * state[1] + torch.sigmoid(i) * torch.tanh(g)
    state = torch.sigmoid(o) * torch.tanh(c), c
    outs.append(state[0])
y = torch.stack(outs)
print(y.shape, y[-1])
y.pow(2).sum().backward()
print(W.grad[0], b.grad[:5])
print(y.grad_fn is not None, i._base is not None, i.is_contiguous(), i.stride())
outs[0].detach().zero_()
try:
    y.sum().backward()
except RuntimeError as error:
    print(type(error).__name__)
