import paddle

paddle.matmul(paddle.ones([2, 3]), paddle.ones([2, 3]))
