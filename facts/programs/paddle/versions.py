import paddle

x = paddle.ones([2])
print(x.inplace_version)
x.scale_(2.0)
x.add_(x)
print(x.inplace_version)
x[0] = 1.0
print(x.inplace_version, x.detach().inplace_version, x.clone().inplace_version)
