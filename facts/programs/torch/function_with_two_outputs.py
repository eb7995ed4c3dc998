import torch


class PowerAndMultiple(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, n):
        ctx.save_for_backward(x)
        ctx.n = n
        return x**n, x * n

    @staticmethod
    def backward(ctx, of_power, of_multiple):
        (x,) = ctx.saved_tensors
        return of_power * ctx.n * x ** (ctx.n - 1) + of_multiple * ctx.n, None


x = torch.tensor([1.0, 2.0], requires_grad=True)
power, multiple = PowerAndMultiple.apply(x, 3)
print(power, multiple)
print(power.grad_fn.name(), type(multiple.grad_fn).__name__)
(power + multiple).sum().backward()
print(x.grad)
