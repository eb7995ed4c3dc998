import paddle

x = paddle.arange(6.0)
y = x
x.reshape_([2, 3])
print(y.shape)
x.transpose_([1, 0])
print(y.shape)
x.unsqueeze_(0)
print(y.shape)
x.squeeze_(0)
x.flatten_()
print(y.shape)
