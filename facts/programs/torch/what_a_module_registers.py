import torch
from torch import nn

torch.manual_seed(1)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2); self.layers = [nn.Linear(1, 1)]
        self.scale = torch.ones(1); self.p = nn.Parameter(torch.zeros(1))
    def forward(self, x): return self.fc(x) * self.p
net = Net()
print([n for n, _ in net.named_parameters()])
print(net)
print(list(net.state_dict()))
print(sum(p.numel() for p in net.parameters()))
