import paddle

x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
x.cumsum_(axis=0)
print(x)
x.cumprod_(dim=1)
print(x)
x.cumsum_()
print(x, x.shape)
