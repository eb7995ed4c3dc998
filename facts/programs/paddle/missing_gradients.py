import paddle

x = paddle.ones([2])
y = (x * 2).sum()
y.backward()
print(x.grad, y.stop_gradient)
z = paddle.ones([2])
z.stop_gradient = False
u = paddle.ones([2])
u.stop_gradient = False
print(paddle.grad(z.sum(), [z, u], allow_unused=True))
paddle.grad(z.sum(), u)
