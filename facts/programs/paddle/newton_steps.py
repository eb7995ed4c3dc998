import paddle

x = paddle.to_tensor(3.0, stop_gradient=False)
for i in range(4):
    y = x ** 4 - 2 * x
    g = paddle.grad(y, x, create_graph=True)[0]
    h = paddle.grad(g, x)[0]
    with paddle.no_grad():
        x.subtract_(g / h)
    print(x.item())
