import torch

loss = torch.tensor([0.3, 2.0, 0.7, 0.6, 5.0, 0.1], requires_grad=True)
top, where = loss.topk(2)
top.mean().backward()
print(top, where, loss.grad)
loss.grad = None
loss[loss > 0.5].sum().backward()
print(loss.grad)
loss.grad = None
values, indices = loss.sort()
kth, index = values[1], indices[1]
kth.backward()
print(kth, index, loss.grad)
loss.grad = None
print(loss.grad)
loss.grad = None
loss.max().backward()
print(loss.grad)
tied = torch.tensor([1.0, 3.0, 3.0], requires_grad=True)
tied.max().backward()
print(tied.grad)
tied.grad = None
tied.max(dim=0).values.backward()
print(tied.grad)
tied.grad = None
torch.amax(tied, 0).backward()
print(tied.grad)
tied.grad = None
torch.maximum(tied, torch.tensor([1.0, 3.0, 5.0])).sum().backward()
print(tied.grad)
tied.grad = None
tied.sort().values.cumsum(0).sum().backward()
print(tied.grad)
pos, neg = torch.tensor([[0.9], [0.2]]), torch.tensor([[0.3, 0.8], [0.1, 0.5]])
margin = torch.relu(neg - pos + 0.4)
print(margin, margin.flatten().topk(2))
