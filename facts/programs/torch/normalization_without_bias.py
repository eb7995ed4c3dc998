import torch
from torch import nn

for norm in (
    nn.BatchNorm1d(2, bias=False),
    nn.BatchNorm1d(2),
    nn.BatchNorm2d(2, affine=False),
    nn.LayerNorm(2, bias=False),
    nn.LayerNorm(2, elementwise_affine=False),
    nn.GroupNorm(1, 2, bias=False),
    nn.InstanceNorm2d(2, affine=True, bias=False),
    nn.InstanceNorm2d(2),
):
    print(norm, [name for name, _ in norm.named_parameters()], norm.bias)
print(nn.BatchNorm1d(2, bias=False)(torch.tensor([[0.0, 1.0], [2.0, 5.0]])))
