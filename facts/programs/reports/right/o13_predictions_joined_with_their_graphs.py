import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 2))
predictions = torch.zeros(0, 2)
for batch in torch.randn(20, 16, 8):
    with torch.no_grad():
        logits = net(batch)
    predictions = torch.cat((predictions, logits))
print(round(predictions.argmax(1).float().mean().item(), 4))
