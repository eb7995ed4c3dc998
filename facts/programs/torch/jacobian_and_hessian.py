import torch
from torch.autograd.functional import hessian, jacobian


def f(x):
    return (x ** 3).sum()


x = torch.tensor([1.0, 2.0])
print(jacobian(lambda t: t ** 2, x))
print(hessian(f, x))
