import paddle
import paddle.nn as nn

d = nn.Dropout(0.5)
x = paddle.ones([1000])
y = d(x)
print(set(y.tolist()) == {0.0, 2.0})
d.eval()
print(bool((d(x) == x).all()), d.training)
