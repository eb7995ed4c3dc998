import paddle

x = paddle.ones([2])
x.stop_gradient = False
y = x * 2
y.backward()
print(x.grad)
z = x * 2
z.backward(paddle.to_tensor([1.0, 10.0]))
print(x.grad)
