import math
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x, pad):
        b, t, d = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (u.view(b, t, self.heads, d // self.heads).transpose(1, 2) for u in (q, k, v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(d // self.heads)
        weights = scores.softmax(dim=-1)
        weights[pad[:, None, None, :].expand_as(weights)] = 0.0
        y = (weights @ v).transpose(1, 2).reshape(b, t, d)
        return self.out(y)


class Classifier(nn.Module):
    def __init__(self, vocabulary=10, dim=4):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, dim)
        self.attention = Attention(dim, 2)
        self.head = nn.Linear(dim, 2)

    def forward(self, tokens):
        pad = tokens == 0
        x = self.embed(tokens)
        x = x + self.attention(x, pad)
        return self.head(x.mean(dim=1))


torch.manual_seed(0)
net = Classifier()
opt = torch.optim.AdamW(net.parameters())
tokens = torch.tensor([[3, 4, 0], [5, 6, 7]])
labels = torch.tensor([0, 1])
for epoch in range(2):
    loss = nn.functional.cross_entropy(net(tokens), labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(epoch, loss.item())
