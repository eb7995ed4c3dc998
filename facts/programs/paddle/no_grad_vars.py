import paddle

x = paddle.ones([2])
x.stop_gradient = False
y = x * 2
z = x * y
print(paddle.grad(z.sum(), x, retain_graph=True, no_grad_vars=[y]))
print(paddle.grad(z.sum(), x))
