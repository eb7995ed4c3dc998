import paddle

from paddle.autograd import PyLayer


class Square(PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensor()
        return 2 * x * grad


x = paddle.to_tensor([3.0], stop_gradient=False)
y = Square.apply(x)
print(y.item())
y.backward()
print(x.grad.tolist())
