import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
y = torch.log_softmax(x, dim=0)
y += 1
y.sum().backward()
print(x.grad)
