import torch
import torch.nn as nn
import torch.nn.functional as F

x = torch.tensor([[1.0, 2.0], [3.0, 5.0]])
print(F.softmax(x))
print(nn.Softmax(dim=1)(x))
print(F.softmax(x, dim=0))
