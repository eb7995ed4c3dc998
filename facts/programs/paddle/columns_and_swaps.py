import paddle

x = paddle.arange(6, dtype="float32").reshape([2, 3])
y = x[:, 1]
y = y + 10
print(x, y)
a = paddle.zeros([3])
b = a
b += 1
print(a, b)
b = a
b.add_(paddle.ones([3]))
print(a, b is a)
