import paddle

w = paddle.ones([2])
w.stop_gradient = False
for i in range(3):
    (w * (i + 1)).sum().backward()
    print(w.grad)
w.clear_grad()
print(w.grad)
(w * 5).sum().backward()
print(w.grad)
