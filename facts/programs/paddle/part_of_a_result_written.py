import paddle

x = paddle.ones([3])
x.stop_gradient = False
y = x * 2
y[1] = 5.0
y.sum().backward()
print(x.grad.tolist())
x.clear_grad()
z = x * 3
z[0:2] = z[1:3] * 2
z.sum().backward()
print(x.grad.tolist())
