import torch
from torch import nn

torch.manual_seed(1)
d = nn.Dropout(0.5)
d.eval()
print(d(torch.ones(3)))
d.train()
torch.manual_seed(0)
print(d(torch.ones(6)))
bn = nn.BatchNorm1d(2)
x = torch.tensor([[1., 2.], [3., 4.]])
print(bn(x))
print(bn.running_mean, bn.running_var, bn.num_batches_tracked)
bn.eval()
print(bn(x))
print(nn.ReLU(inplace=True)(x.neg()))
