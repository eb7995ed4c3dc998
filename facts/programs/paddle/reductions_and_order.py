import paddle

x = paddle.arange(12, dtype="float32").reshape([3, 4])
print(x.sum(0), x.mean(axis=1), x.max(axis=1), x.min())
print(x.argmax(), x.argmax(axis=0), x.cumsum(axis=1)[0])
print(x.sum(axis=[0, 1]), x.sum(axis=1, keepdim=True).shape)
print(paddle.flip(x, [1])[0], paddle.roll(x, 1, 0)[0])
print(paddle.concat([x, x], axis=0).shape, paddle.stack([x, x]).shape)
print([each.shape for each in paddle.split(x, 2, axis=1)])
