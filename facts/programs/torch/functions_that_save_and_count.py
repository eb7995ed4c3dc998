import torch
from torch.autograd import Function

class Clamp(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x)
        ctx.bounds = low, high
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        low, high = ctx.bounds
        return g * ((x >= low) & (x <= high)), None, None

class DivMod(Function):
    @staticmethod
    def forward(ctx, a, b):
        q = torch.floor(a / b)
        r = a - q * b
        ctx.save_for_backward(q)
        ctx.mark_non_differentiable(q)
        return q, r

    @staticmethod
    def backward(ctx, gq, gr):
        q, = ctx.saved_tensors
        print("gq", gq, ctx.needs_input_grad)
        return gr, -gr * q

x = torch.tensor([-2.0, 0.5, 3.0], requires_grad=True)
y = Clamp.apply(x, -1, 1)
print(y, y.requires_grad, type(y.grad_fn).__name__)
y.sum().backward()
print(x.grad)
a = torch.tensor([7.5, 8.0], requires_grad=True)
b = torch.tensor([2.0, 3.0])
q, r = DivMod.apply(a, b)
print(q, r.detach(), q.requires_grad)
r.sum().backward()
print(a.grad, b.grad)
z = Clamp.apply(x, -1, 1)
with torch.no_grad():
    x.mul_(2)
try:
    z.sum().backward()
except RuntimeError as error:
    print("stale", "modified by an inplace operation" in str(error))

class Two(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return g * 2, g
try:
    Two.apply(x).sum().backward()
except RuntimeError as error:
    print(str(error).splitlines()[0])
