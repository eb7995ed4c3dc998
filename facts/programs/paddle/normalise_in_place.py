import paddle

x = paddle.to_tensor([3.0, 4.0], stop_gradient=False)
y = x * 1
y.divide_(y.norm())
print(y)
y.sum().backward()
print(x.grad)
