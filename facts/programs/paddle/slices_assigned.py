import paddle

x = paddle.zeros([2, 3])
x[:, 0] = paddle.to_tensor([1.0, 2.0])
x[1] = 7.0
print(x)
x[x > 5.0] = -1.0
print(x)
print(x[None].shape, x[..., -1].shape, x[0, 1])
print(x[paddle.to_tensor([1, 0])])
print(x[[0, 1], [1, 2]])
x[0, 1:] = 9.0
print(x.tolist())
