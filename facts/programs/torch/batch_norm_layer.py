import torch
import torch.nn as nn

m = nn.BatchNorm1d(2)
x = torch.tensor([[1.0, 2.0], [3.0, 6.0], [5.0, 1.0]])
print(m(x))
print(m.running_mean, m.running_var, m.num_batches_tracked)
m.eval()
print(m(x))
print(list(m.state_dict()))
print([name for name, _ in m.named_parameters()])
print([name for name, _ in m.named_buffers()])
