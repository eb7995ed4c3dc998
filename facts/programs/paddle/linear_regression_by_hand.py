import paddle

x = paddle.linspace(-1, 1, 20)
y = 3 * x + 2
w = paddle.zeros([1])
b = paddle.zeros([1])
w.stop_gradient = False
b.stop_gradient = False
for epoch in range(50):
    loss = ((w * x + b - y) ** 2).mean()
    loss.backward()
    with paddle.no_grad():
        w.subtract_(0.5 * w.grad)
        b.subtract_(0.5 * b.grad)
    w.clear_grad()
    b.clear_grad()
    if epoch % 10 == 0:
        print(epoch, round(float(loss), 5))
print(w, b)
