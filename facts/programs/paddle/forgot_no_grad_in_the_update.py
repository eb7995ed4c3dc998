import paddle

w = paddle.ones([2])
w.stop_gradient = False
(w * w).sum().backward()
w.subtract_(0.1 * w.grad)
