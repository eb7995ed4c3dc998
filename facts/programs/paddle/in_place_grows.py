import paddle

x = paddle.ones([3])
x.add_(paddle.ones([2, 3]))
