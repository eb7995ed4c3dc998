import torch
from torch.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp

x, w = torch.tensor([1.0, 2.0]), torch.ones(2, requires_grad=True)
print(jacobian(lambda x: x**2, x, strict=True), hessian(lambda x: (x**3).sum(), x, strict=True))
print(jacobian(lambda x: w * 2, x), jacobian(lambda x: x**2, x, vectorize=True))
for compute in (
    lambda: jacobian(lambda x: torch.ones(2), x, strict=True),
    lambda: jacobian(lambda x: w * 2, x, strict=True),
    lambda: jacobian(lambda x, y: x * 2, (x, x), strict=True),
    lambda: vjp(lambda x: torch.ones(2), x, x, strict=True),
    lambda: jvp(lambda x: torch.ones(2), x, x, strict=True),
    lambda: hvp(lambda x: torch.ones(1), x, x, strict=True),
    lambda: vhp(lambda x: torch.ones(1), x, x, strict=True),
    lambda: jacobian(lambda x: x * 2, x, unknown=True),
):
    try:
        print(compute())
    except (RuntimeError, TypeError) as error:
        print(type(error).__name__, str(error).removesuffix("."))
for compute in (
    lambda: hessian(lambda x: x.sum(), x, strict=True),
    lambda: hvp(lambda x: x.sum(), x, x, strict=True),
    lambda: vhp(lambda x: x.sum(), x, x, strict=True),
):
    try:
        print(compute())
    except RuntimeError:
        print("the function is linear")
