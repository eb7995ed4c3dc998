import torch
from torch import nn

a = torch.tensor([3.0, 4.0], requires_grad=True)
b = torch.tensor(12.0, requires_grad=True)
unused = torch.zeros(2, requires_grad=True)
(a.pow(2).sum() / 2 + b * b / 2).backward()
kept = a.grad
print(nn.utils.clip_grad_norm_([a, b, unused], 1.0))
print(kept is a.grad, kept, b.grad, kept._version)
print(nn.utils.clip_grad_norm_([a, b], 100.0), a.grad)
print(nn.utils.clip_grad_norm_([a, b], 0.5, norm_type=float("inf")), a.grad, b.grad)
nn.utils.clip_grad_value_([a, b], 0.1)
print(a.grad, b.grad, kept)
a.grad[0] = float("nan")
print(nn.utils.clip_grad_norm_([a, b], 1.0), b.grad)
try:
    nn.utils.clip_grad_norm_([a, b], 1.0, error_if_nonfinite=True)
except RuntimeError as error:
    print("nonfinite")
print(nn.utils.clip_grad_norm_([], 1.0))
