import paddle

import paddle.nn.functional as F

x = paddle.to_tensor([-1.0, 0.5, 2.0])
y = F.relu_(x)
print(y is x, x.tolist())
x = paddle.to_tensor([4.0, 9.0])
x.sqrt_()
x.subtract_(paddle.ones([2]))
print(x.tolist(), x.inplace_version)
x.clip_(1.5, 3.0)
x.reshape_([2, 1])
print(x.tolist(), x.shape)
x = paddle.to_tensor([1.0, 2.0])
x.exp_().scale_(2.0).floor_()
print(x.tolist())
