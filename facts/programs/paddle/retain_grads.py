import paddle

x = paddle.ones([2])
x.stop_gradient = False
y = x * 2
y.retain_grads()
z = (y * y).sum()
z.backward()
print(y.grad, x.grad)
w = x * 3
w.sum().backward()
print(w.grad)
