import paddle

paddle.sigmoidd(paddle.ones([2]))
