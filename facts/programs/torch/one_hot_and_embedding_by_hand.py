import torch
import torch.nn.functional as F

labels = torch.tensor([2, 0, 1])
hot = F.one_hot(labels, num_classes=4)
print(hot, hot.dtype)
table = torch.arange(8.0).reshape(4, 2).requires_grad_()
print(hot.float() @ table)
table[labels].sum().backward()
print(table.grad)
