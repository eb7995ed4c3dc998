import torch

x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
values, indices = torch.sort(x, descending=True)
print(values, indices)
top = torch.topk(x, 2)
print(top.values, top.indices)
top.values.sum().backward()
print(x.grad)
print(torch.argsort(x), x.argmax(), x.unique())
print(torch.tensor([1, 2, 2, 3]).unique(return_counts=True))
