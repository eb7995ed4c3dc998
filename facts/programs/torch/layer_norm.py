import torch
import torch.nn as nn

x = torch.tensor([[1.0, 2.0, 3.0], [2.0, 2.0, 8.0]], requires_grad=True)
m = nn.LayerNorm(3)
y = m(x)
print(y)
(y * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
print(x.grad)
