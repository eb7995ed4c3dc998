import torch
import torch.nn as nn

torch.manual_seed(0)
d = nn.Dropout(0.5)
x = torch.ones(8)
print(d(x))
d.eval()
print(d(x))
print(d.training)
