import paddle

x = paddle.ones([2])
x.summ()
