import copy
import paddle
import paddle.nn as nn

a = paddle.arange(4.0)
b = copy.deepcopy(a)
b[0] = 9.0
print(a, b)
m = nn.Linear(2, 1)
c = copy.deepcopy(m)
with paddle.no_grad():
    m.weight.zero_()
print(bool((c.weight == m.weight).all()))
w = paddle.ones([2])
w.stop_gradient = False
w.sum().backward()
v = copy.deepcopy(w)
print(v.stop_gradient, v.grad)
