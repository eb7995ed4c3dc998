import torch
from torch import nn


class Probe:
    """Stores the activations of a layer, and scales them in place."""

    def __init__(self, layer, scale):
        self.scale = scale
        self.seen = None
        layer.register_forward_hook(self.forward)
        layer.register_full_backward_hook(self.backward)

    def forward(self, layer, given, out):
        self.seen = out.detach()
        out.mul_(self.scale)

    def backward(self, layer, sent, came):
        print("gradient that came:", came[0].norm().item())


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 4)
        self.act = nn.Sigmoid()
        self.b = nn.Linear(4, 1)

    def forward(self, x):
        return self.b(self.act(self.a(x)))


torch.manual_seed(0)
net = Mlp()
probe = Probe(net.act, 2.0)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(4, 2), torch.randn(4, 1)
for step in range(2):
    loss = (net(x) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
