import torch

torch.manual_seed(1)
class Sq(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): ctx.save_for_backward(x); return x * x
    @staticmethod
    def backward(ctx, g): x, = ctx.saved_tensors; return 2 * x * g
x = torch.tensor([3.], requires_grad=True)
y = Sq.apply(x)
print(y)
y.backward()
print(x.grad)
class In(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): ctx.mark_dirty(x); x.mul_(2); return x
    @staticmethod
    def backward(ctx, g): return g * 2
a = torch.ones(2, requires_grad=True)
b = a * 1
c = In.apply(b)
print(c is b, c)
c.sum().backward()
print(a.grad)
