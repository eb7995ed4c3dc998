import paddle

x = paddle.arange(6)
y = x.reshape([2, 3])
y[0, 0] = 100
print(x)
z = x[2:4]
z.fill_(0)
print(x, y)
t = y.t()
t[0, 1] = -7
print(y)
print(y.t().is_contiguous())
c = y.clone()
c[0, 0] = 5
print(y[0, 0])
