import numpy as np
import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=16):
        super().__init__()
        pe = torch.zeros(max_len, d_model)
        theta = np.arange(max_len)[:, None] / np.power(10000, np.arange(d_model)[None, :] / d_model)
        pe[:, 0::2] = torch.FloatTensor(np.sin(theta[:, 0::2]))
        pe[:, 1::2] = torch.FloatTensor(np.cos(theta[:, 1::2]))
        self.pe = nn.Parameter(pe)

    def forward(self, x):
        return x + self.pe[: x.shape[1]]


net = PositionalEncoding(8)
print(net(torch.zeros(2, 4, 8)).sum().item())
