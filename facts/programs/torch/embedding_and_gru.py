import torch
import torch.nn as nn

torch.manual_seed(0)
embed = nn.Embedding(5, 3)
rnn = nn.GRU(3, 4, batch_first=True)
x = torch.tensor([[1, 2, 4], [0, 3, 3]])
out, h = rnn(embed(x))
print(out.shape, h.shape)
out[:, -1].sum().backward()
print(embed.weight.grad.abs().sum(dim=1) > 0)
