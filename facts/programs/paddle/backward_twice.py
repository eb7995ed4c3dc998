import paddle

x = paddle.ones([2])
x.stop_gradient = False
y = (x * x).sum()
y.backward()
y.backward()
