import paddle
import paddle.nn.functional as F

a = paddle.to_tensor([-1.0, 2.0], stop_gradient=False)
b = a * 1
F.relu_(b)
print(b)
b.sum().backward()
print(a.grad)
c = a.clone()
c.sigmoid_()
print(c)
