import paddle
import paddle.nn as nn

x = paddle.to_tensor([[1.0, 2.0, 3.0], [2.0, 2.0, 8.0]], stop_gradient=False)
m = nn.LayerNorm(3)
y = m(x)
print(y)
(y * paddle.to_tensor([1.0, 2.0, 3.0])).sum().backward()
print(x.grad)
