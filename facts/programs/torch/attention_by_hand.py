import math
import torch

torch.manual_seed(0)
q, k, v = (torch.randn(1, 3, 4, requires_grad=True) for _ in range(3))
scores = q @ k.transpose(-2, -1) / math.sqrt(4)
mask = torch.tril(torch.ones(3, 3)) == 0
scores = scores.masked_fill(mask, float("-inf"))
att = torch.softmax(scores, dim=-1)
print(att)
(att @ v).sum().backward()
print(v.grad, q.grad.abs().sum() < 1e-4)
