import torch
from torch import nn

x = torch.linspace(-1, 1, 9).reshape(3, 3).requires_grad_()
makers = {
    "mask": lambda a: a[a > 0],
    "list": lambda a: a[[0, 1]].exp(),
    "batch norm": lambda a: nn.functional.batch_norm(a, None, None, training=True),
    "convolution": lambda a: nn.functional.conv2d(a.reshape(1, 1, 3, 3), torch.ones(1, 1, 2, 2, requires_grad=True)),
    "recurrent": lambda a: nn.GRU(3, 3)(a)[0],
    "gradient": lambda a: torch.autograd.grad(a.pow(3).sum(), a, create_graph=True)[0],
    "sorted": lambda a: a.sort()[0],
}
for name, make in makers.items():
    y = make(x)
    y.sum().backward()
    try:
        y.sum().backward()
    except RuntimeError as error:
        print(name, str(error).splitlines()[0])
for name in ("batch norm", "convolution", "recurrent"):
    a = x * 2
    y = makers[name](a)
    a.add_(1)
    try:
        y.sum().backward()
    except RuntimeError as error:
        print(name, "modified by an inplace operation" in str(error))
