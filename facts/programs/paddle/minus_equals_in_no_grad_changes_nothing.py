import paddle

w = paddle.ones([2])
w.stop_gradient = False
(w * w).sum().backward()
before = w
with paddle.no_grad():
    w -= 0.1 * w.grad
print(w, before, w is before)
print(w.stop_gradient, w.is_leaf)
