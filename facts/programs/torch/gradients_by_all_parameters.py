import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
x = torch.ones(4, 2)
grads = torch.autograd.grad(net(x).sum(), net.parameters(), create_graph=True)
print([g.shape for g in grads])
sum(g.pow(2).sum() for g in grads).backward(inputs=(p for p in net[0].parameters()))
print([p.grad is None for p in net.parameters()])
for inputs in (net.named_parameters(), iter([])):
    try:
        print(torch.autograd.grad(net(x).sum(), inputs))
    except Exception as error:
        print(type(error).__name__)
