import paddle

w = paddle.full([4, 3], 0.1)
w.stop_gradient = False
h = paddle.zeros([1, 3])
for step in range(3):
    x = paddle.ones([1, 1])
    h = paddle.tanh(paddle.concat([x, h.detach()], axis=1) @ w)
    loss = h.sum()
    loss.backward()
    with paddle.no_grad():
        w.subtract_(0.1 * w.grad)
    w.clear_grad()
    print(loss)
