import torch
from torch.autograd import Variable

x = Variable(torch.FloatTensor([1, 2, 3]), requires_grad=True)
y = torch.LongTensor([0, 1, 2])
out = (x * x).sum()
out.backward()
print(x.grad, x.grad.data)
print(y, y.type(), x.data.type())
print(torch.Tensor([1, 2]), torch.FloatTensor(2, 2).shape)
print(x.data)
