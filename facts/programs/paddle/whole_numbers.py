import paddle

i = paddle.to_tensor([1, 2])
print(i.mean(), i.sum(), i.max(), i / 2, i // 2, i % 2, i ** 2)
print(i * 0.5, i + 1.5, 1 / i)
print(i.astype("float32").mean())
print((i > 1).sum(), i.dtype)
