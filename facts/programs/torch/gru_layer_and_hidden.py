import torch
from torch import nn

torch.manual_seed(0)
gru = nn.GRU(2, 3, batch_first=True)
with torch.no_grad():
    for k, p in enumerate(gru.parameters()):
        p.copy_(torch.linspace(-0.5, 0.5, p.numel()).reshape(p.shape) * (k + 1))
x = torch.linspace(0, 1, 12).reshape(2, 3, 2).requires_grad_()
out, hidden = gru(x)
print(out.shape, hidden.shape)
print(torch.equal(out[:, -1], hidden[0]))
(out.sum() + (hidden ** 2).sum()).backward()
print(x.grad)
print([name for name, _ in gru.named_parameters()])
out2, hidden2 = gru(x.detach(), hidden.detach())
print(out2[:, 0])
