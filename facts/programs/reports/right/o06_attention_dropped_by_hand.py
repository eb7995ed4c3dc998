"""Self-attention that sets the weights of padding to zero after the softmax."""

import math

import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x, padding):
        b, n, w = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, self.size).permute(2, 0, 3, 1, 4)
        weights = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(self.size), dim=-1)
        hidden = padding[:, None, None, :].expand_as(weights)
        weights = weights.masked_fill(hidden, 0.0)
        return self.proj((weights @ v).transpose(1, 2).reshape(b, n, w))


torch.manual_seed(6)
layer = SelfAttention(8, 2)
tokens = torch.randn(2, 5, 8)
padding = torch.zeros(2, 5, dtype=torch.bool)
padding[1, 3:] = True
layer(tokens, padding).square().mean().backward()
print(f"{layer.qkv.weight.grad.norm().item():.6f}")
