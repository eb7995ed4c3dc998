import paddle

a = paddle.ones([2, 3])
b = paddle.ones([2])
print((a + b.unsqueeze(1)).shape)
a + b
