import paddle

w = paddle.zeros([1])
w.stop_gradient = False
opt = paddle.optimizer.Adam(0.5, parameters=[w])
losses = []
for i in range(3):
    loss = (w - 3.0) ** 2
    loss.backward()
    opt.step()
    opt.clear_grad()
    losses.append(loss)
print([round(each.item(), 4) for each in losses])
total = 0.0
for each in losses:
    total += each
print(round(total.item(), 4), total.stop_gradient)
