import paddle

x = paddle.to_tensor([1.0, -2.0, 3.0], stop_gradient=False)
y = x * 2
y[y < 0] = 0.0
y.sum().backward()
print(y, x.grad)
z = x.clone()
z[1] = 100.0
z.sum().backward()
print(x.grad)
m = paddle.zeros([3])
m[paddle.to_tensor([True, False, True])] = 5.0
print(m)
