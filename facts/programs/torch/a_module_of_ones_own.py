import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 3)
        self.fc2 = nn.Linear(3, 2)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        return F.log_softmax(self.fc2(x), dim=1)


torch.manual_seed(1)
net = Net()
print(net)
out = net(torch.ones(2, 4))
print(out)
loss = F.nll_loss(out, torch.tensor([0, 1]))
loss.backward()
for name, p in net.named_parameters():
    print(name, tuple(p.shape), p.grad.abs().sum())
print(sum(p.numel() for p in net.parameters()))
