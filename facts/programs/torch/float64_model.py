import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Linear(2, 1).double()
print(net.weight.dtype)
x = torch.ones(1, 2, dtype=torch.float64)
print(net(x).dtype)
net = nn.Linear(2, 1).to(torch.float64)
try:
    net(torch.ones(1, 2))
except RuntimeError as error:
    print(error)
