import copy

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Linear(2, 1))
with torch.no_grad():
    for p in model.parameters():
        p.fill_(0.5)
ema = copy.deepcopy(model)
for p in ema.parameters():
    p.requires_grad_(False)
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
x = torch.tensor([[1.0, 2.0], [3.0, -1.0], [0.0, 0.5]])
for _ in range(4):
    loss = (model(x) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for a, b in zip(ema.parameters(), model.parameters()):
            a.mul_(0.9).add_(b, alpha=0.1)
        for a, b in zip(ema.buffers(), model.buffers()):
            a.copy_(b)
    print(loss.item(), ema[0].bias, ema[1].num_batches_tracked)
print(ema[2].weight, ema[1].running_mean)
ema.eval()
print(ema(x).squeeze(1))
print({k: tuple(v.shape) for k, v in ema.state_dict().items()})
a, b = ema[0].weight, model[0].weight
a.lerp_(b, 0.5)
print(a.requires_grad, a._version > 0)
