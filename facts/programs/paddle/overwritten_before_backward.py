import paddle

x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
a = x * 2
y = a ** 2
a.scale_(3.0)
y.sum().backward()
