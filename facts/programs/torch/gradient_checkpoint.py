import torch
from torch.utils.checkpoint import checkpoint

x = torch.tensor([1.0, 2.0], requires_grad=True)
y = checkpoint(lambda t: torch.exp(torch.sin(t)), x, use_reentrant=False)
y.sum().backward()
print(x.grad)
