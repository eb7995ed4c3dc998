import torch

a = torch.ones(2, 3)
b = torch.ones(2)
print((a + b.unsqueeze(1)).shape)
a + b
