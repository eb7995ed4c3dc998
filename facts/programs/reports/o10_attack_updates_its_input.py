import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
x = torch.rand(2, 4)
y = torch.tensor([0, 2])
adv = x.clone().requires_grad_(True)
for step in range(5):
    loss = nn.functional.cross_entropy(model(adv), y)
    loss.backward()
    adv += 0.01 * adv.grad.sign()
    adv.grad.zero_()
print(round((adv - x).abs().max().item(), 4))
