import torch
from torch import nn

torch.manual_seed(0)


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.qkv = nn.Linear(dim, dim * 3)
        self.scale = dim**-0.5

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q *= self.scale
        return (q @ k.transpose(-2, -1)).softmax(-1) @ v


net = Attention(8)
net(torch.randn(2, 5, 8)).square().mean().backward()
print(round(net.qkv.weight.grad.norm().item(), 4))
