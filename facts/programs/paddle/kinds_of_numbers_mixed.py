import paddle

i = paddle.to_tensor([1, 2])
f = paddle.to_tensor([1.5, 2.5])
b = paddle.to_tensor([True, False])
print(i * 2, i + 1, f * 2, f / 2)
print((i * 2.5).dtype == paddle.float32, i % 2, i // 2)
print(f > 2, i == paddle.to_tensor([1, 3]), b & b, ~b)
print(f.astype("int32"), i.astype("float64").dtype == paddle.float64, b.astype("float32"))
print(paddle.cast(f, "bool"), i ** 2, -f)
