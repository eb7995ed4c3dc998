import paddle

x = paddle.to_tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
print(x)
print(x.shape, x.dtype, x.ndim, x.size)
print(x[0], x[:, 1], x[-1, -1])
print(x.T)
print(x + 10, x * x, x @ x.T)
print(x.sum(), x.mean(axis=0), x.max(axis=1))
y = paddle.zeros_like(x)
y[0, 1:] = 5
print(y)
print(paddle.concat([x, y]), paddle.stack([x, y]).shape)
