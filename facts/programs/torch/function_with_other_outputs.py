import torch


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return None, x * factor, "a text"

    @staticmethod
    def backward(ctx, of_none, of_product, of_text):
        print(of_none, of_product, of_text)
        return of_product * ctx.factor, None


x = torch.tensor([1.0, 2.0], requires_grad=True)
nothing, product, text = Scaled.apply(x, 3.0)
print(nothing, product, text)
product.sum().backward()
print(x.grad)
