import math

import torch
from torch import nn

torch.manual_seed(0)
length, width, classes = 8, 16, 5


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, 32), nn.GELU(), nn.Linear(32, width))

    def forward(self, x, mask):
        seen, _ = self.attention(x, x, x, attn_mask=mask, need_weights=False)
        x = self.norm1(x + seen)
        return self.norm2(x + self.feed(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(classes, width)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.out = nn.Linear(width, classes)
        position = torch.arange(length).unsqueeze(1)
        rate = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        table = torch.zeros(length, width)
        table[:, 0::2] = torch.sin(position * rate)
        table[:, 1::2] = torch.cos(position * rate)
        self.register_buffer("table", table)

    def forward(self, tokens):
        mask = torch.triu(torch.ones(length, length), diagonal=1) > 0
        x = self.embed(tokens) * math.sqrt(width) + self.table
        for block in self.blocks:
            x = block(x, mask)
        return self.out(x)


sequence = torch.arange(40) * 3 % 7 % classes
inputs = torch.stack([sequence[i : i + length] for i in range(16)])
targets = torch.stack([sequence[i + 1 : i + 1 + length] for i in range(16)])
model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.005)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10, gamma=0.5)
print(sum(p.numel() for p in model.parameters()))
for step in range(30):
    loss = nn.functional.cross_entropy(model(inputs).view(-1, classes), targets.view(-1))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    if step % 5 == 0:
        print(f"{loss.item():.3f}")
