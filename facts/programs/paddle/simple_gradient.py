import paddle

x = paddle.to_tensor(2.0, stop_gradient=False)
y = x ** 3 + 2 * x
print(y)
y.backward()
print(x.grad)
print(x.is_leaf, y.is_leaf, y.stop_gradient)
