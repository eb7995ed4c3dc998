import torch

x = torch.ones(2)
(x * 2).sum().backward()
