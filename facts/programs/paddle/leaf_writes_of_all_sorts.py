import paddle

x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
with paddle.no_grad():
    x.add_(paddle.ones([2]))
print(x, x.is_leaf)
x.set_value(paddle.zeros([2]))
print(x.tolist(), x.stop_gradient)
y = x + 0
y.add_(paddle.ones([2]))
print(y.is_leaf, y.stop_gradient)
x.add_(paddle.ones([2]))
