import paddle

a = paddle.to_tensor([1, 2, 3])
b = paddle.to_tensor([1.0, 2.0, 3.0])
print(a.dtype, b.dtype, (a + b).dtype)
print(paddle.ones([2], dtype="int64"), paddle.zeros([2], dtype="bool"))
print(b.astype("float64").dtype, b.cast("int32"), a.astype(paddle.float32))
print(paddle.full([2], 7), paddle.arange(3), paddle.arange(0, 1, 0.25))
print(paddle.to_tensor([1, 2], dtype="float64"))
