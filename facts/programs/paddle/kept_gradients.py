import paddle

w = paddle.ones([2])
w.stop_gradient = False
saved = []
for i in range(3):
    (w * (i + 1)).sum().backward()
    saved.append(w.grad)
print([g.tolist() for g in saved])
w.clear_grad()
print([g.tolist() for g in saved], w.grad.tolist())
(w * 7).sum().backward()
print([g.tolist() for g in saved], w.grad.tolist())
