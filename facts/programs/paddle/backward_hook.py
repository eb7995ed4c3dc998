import paddle

x = paddle.ones([2])
x.stop_gradient = False
x._register_backward_hook(lambda: print("done", x.grad.tolist()))
(x * 3).sum().backward()
(x * 3).sum().backward()
