import paddle
from paddle.autograd import PyLayer

class SplitSign(PyLayer):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return paddle.where(x > 0, x, paddle.zeros_like(x)) * scale, paddle.where(x > 0, paddle.zeros_like(x), x)

    @staticmethod
    def backward(ctx, up, down):
        x, = ctx.saved_tensor()
        positive = (x > 0).astype("float32")
        return up * positive * ctx.scale + down * (1 - positive)

x = paddle.to_tensor([-2.0, 0.5, 3.0], stop_gradient=False)
up, down = SplitSign.apply(x, 10.0)
print(up.numpy(), down.numpy(), up.stop_gradient)
(up.sum() + 2 * down.sum()).backward()
print(x.grad.numpy())
x.clear_grad()
up, down = SplitSign.apply(x, 10.0)
up.sum().backward()
print(x.grad.numpy())
with paddle.no_grad():
    up, down = SplitSign.apply(x, 1.0)
print(up.stop_gradient)

