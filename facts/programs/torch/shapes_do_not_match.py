import torch
import torch.nn as nn

net = nn.Linear(3, 2)
net(torch.ones(4, 2))
