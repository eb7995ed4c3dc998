import paddle

w = paddle.ones([1])
w.stop_gradient = False
losses = []
total = 0
for i in range(4):
    loss = (w * i) ** 2
    losses.append(loss)
    total = total + loss
print(losses[3], total)
paddle.stack(losses).sum().backward()
print(w.grad)
