import paddle
from paddle.autograd import PyLayer


class Tanh(PyLayer):
    @staticmethod
    def forward(ctx, x):
        y = paddle.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, dy):
        (y,) = ctx.saved_tensor()
        return dy * (1 - paddle.square(y))


x = paddle.to_tensor([0.5, -1.0], stop_gradient=False)
z = Tanh.apply(x)
z.mean().backward()
print(z, x.grad)
