import paddle

x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
y = x * x * x
(g,) = paddle.grad(y.sum(), x, create_graph=True)
print(g.tolist())
(h,) = paddle.grad(g.sum(), x)
print(h.tolist())
z = paddle.to_tensor([1.0], stop_gradient=False)
print(paddle.grad((x * 2).sum(), [x, z], allow_unused=True)[1])
print(x.grad)
