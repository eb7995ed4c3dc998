import paddle

x = paddle.ones([3])
x.stop_gradient = False
y = paddle.exp(x)
y.scale_(2.0)
try:
    y.sum().backward()
except RuntimeError as error:
    print("refused")
z = paddle.sin(x)
z.scale_(2.0)
z.sum().backward()
print(x.grad)
