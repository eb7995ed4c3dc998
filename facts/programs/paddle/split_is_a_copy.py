import paddle

x = paddle.arange(4.0)
a, b = paddle.split(x, 2)
a.fill_(9.0)
print(x, a)
e = x.reshape([1, 4]).expand([2, 4])
e[0, 0] = 5.0
print(x, e)
u = x.unbind()[0]
u.fill_(3.0)
print(x)
