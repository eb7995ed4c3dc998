import torch
from torch import nn


class Cell(nn.Module):
    """A recurrent cell that updates its state in place, to save memory."""

    def __init__(self, inputs, hidden):
        super().__init__()
        self.inp = nn.Linear(inputs, hidden)
        self.rec = nn.Linear(hidden, hidden, bias=False)
        self.hidden = hidden

    def forward(self, x, h):
        z = torch.tanh(self.inp(x) + self.rec(h))
        h.mul_(0.9).add_(0.1 * z)
        return z, h


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = Cell(3, 4)
        self.head = nn.Linear(4, 1)

    def forward(self, xs):
        h = torch.zeros(xs.shape[1], self.cell.hidden)
        outs = []
        for x in xs:
            z, h = self.cell(x, h)
            outs.append(self.head(h))
        return torch.stack(outs)


torch.manual_seed(0)
model = Model()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
data = torch.randn(5, 2, 3)
target = torch.randn(5, 2, 1)
for epoch in range(2):
    opt.zero_grad()
    loss = ((model(data) - target) ** 2).mean()
    loss.backward()
    opt.step()
    print(epoch, loss.item())
