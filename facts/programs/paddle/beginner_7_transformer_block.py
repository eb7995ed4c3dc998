import math

import numpy as np
import paddle
from paddle import nn

length, width, classes = 8, 16, 5


class Block(nn.Layer):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiHeadAttention(width, 4)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, 32), nn.GELU(), nn.Linear(32, width))

    def forward(self, x, mask):
        x = self.norm1(x + self.attention(x, x, x, attn_mask=mask))
        return self.norm2(x + self.feed(x))


class Model(nn.Layer):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(classes, width)
        self.blocks = nn.LayerList([Block(), Block()])
        self.out = nn.Linear(width, classes)
        position = np.arange(length)[:, None]
        rate = np.exp(np.arange(0, width, 2) * (-math.log(10000.0) / width))
        table = np.zeros((length, width), "float32")
        table[:, 0::2] = np.sin(position * rate)
        table[:, 1::2] = np.cos(position * rate)
        self.register_buffer("table", paddle.to_tensor(table))

    def forward(self, tokens):
        mask = paddle.tril(paddle.ones([length, length])) > 0
        x = self.embed(tokens) * math.sqrt(width) + self.table
        for block in self.blocks:
            x = block(x, mask)
        return self.out(x)


sequence = paddle.arange(40) * 3 % 7 % classes
inputs = paddle.stack([sequence[i : i + length] for i in range(16)])
targets = paddle.stack([sequence[i + 1 : i + 1 + length] for i in range(16)])
rng = np.random.default_rng(0)
model = Model()
for p in model.parameters():
    p.set_value((rng.standard_normal(p.shape) * 0.2).astype("float32"))
schedule = paddle.optimizer.lr.StepDecay(0.005, step_size=10, gamma=0.5)
clip = nn.ClipGradByGlobalNorm(1.0)
optimizer = paddle.optimizer.AdamW(schedule, parameters=model.parameters(), grad_clip=clip)
print(sum(math.prod(p.shape) for p in model.parameters()))
for step in range(30):
    loss = nn.functional.cross_entropy(model(inputs).reshape([-1, classes]), targets.flatten())
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    schedule.step()
    if step % 5 == 0:
        print(f"{loss.item():.3f}")
