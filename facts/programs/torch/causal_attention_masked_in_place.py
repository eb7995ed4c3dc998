import math

import torch
import torch.nn.functional as F

q = torch.linspace(-1, 1, 24).reshape(1, 2, 4, 3).requires_grad_()
k = torch.linspace(1, -1, 24).reshape(1, 2, 4, 3).requires_grad_()
v = torch.arange(24.0).reshape(1, 2, 4, 3).requires_grad_()
mask = torch.triu(torch.ones(4, 4, dtype=torch.bool), diagonal=1)
scores = q @ k.transpose(-2, -1) / math.sqrt(3)
scores.masked_fill_(mask, float("-inf"))
weights = F.softmax(scores, dim=-1)
out = weights @ v
print(out[0, 0])
out.sum().backward()
print(q.grad[0, 0], v.grad[0, 1])
print(weights[0, 0].tril().equal(weights[0, 0]))
try:
    same = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    print(torch.allclose(same, out, atol=1e-6))
except AttributeError as error:
    print("none")
scores.mul_(2)
try:
    (weights @ v).sum().backward()
    print("fine")
except RuntimeError:
    print("stale")
