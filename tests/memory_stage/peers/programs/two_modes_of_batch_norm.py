import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Linear(3, 4)
        self.bn = nn.BatchNorm1d(4)

    def forward(self, x):
        return torch.relu(self.bn(self.conv(x)))


class Siamese(nn.Module):
    """Compares a batch with an anchor that is encoded in evaluation mode."""

    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.head = nn.Linear(4, 1)

    def forward(self, anchor, batch):
        self.encoder.eval()
        a = self.encoder(anchor)
        self.encoder.train()
        b = self.encoder(batch)
        return self.head((a - b).abs())


torch.manual_seed(0)
net = Siamese()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
bce = nn.BCEWithLogitsLoss()
for step in range(2):
    anchor, batch = torch.randn(4, 3), torch.randn(4, 3) * 3 + 1
    same = torch.randint(0, 2, (4, 1)).float()
    loss = bce(net(anchor, batch), same)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
