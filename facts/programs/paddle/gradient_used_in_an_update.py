import paddle

w = paddle.to_tensor([2.0], stop_gradient=False)
for i in range(3):
    loss = (w * w).sum()
    loss.backward()
    with paddle.no_grad():
        w.set_value(w - 0.1 * w.grad)
    w.clear_gradient()
    print(round(w.item(), 4))
