import paddle

a = paddle.to_tensor([1.0, 2.0])
b = a
a += 1
print(a, b)
b.add_(paddle.to_tensor([10.0, 10.0]))
print(a, b)
c = b
c.scale_(2.0)
print(b, b.inplace_version)
