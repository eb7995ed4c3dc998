import paddle

pred = paddle.to_tensor([[1.0], [2.0], [3.0]], stop_gradient=False)
target = paddle.to_tensor([1.0, 2.0, 3.0])
loss = ((pred - target) ** 2).mean()
loss.backward()
print(loss.item(), pred.grad.numpy().T)
print(((pred.squeeze() - target) ** 2).mean().item())
bias = paddle.zeros([3])
bias.stop_gradient = False
(pred + bias).sum().backward()
print(bias.grad.numpy())
acc = paddle.zeros([3])
before = acc
acc += paddle.ones([2, 3])
print(acc.shape, before.shape, acc is before)
col = paddle.zeros([3, 1])
try:
    col.add_(paddle.ones([3]))
except ValueError:
    print("grows")
m = paddle.to_tensor([[1.0, 2.0, 6.0], [0.0, 0.0, 3.0]])
print((m - m.mean(axis=1, keepdim=True)).numpy())
print((paddle.ones([3, 1]) == paddle.ones([3])).shape)
try:
    paddle.ones([2, 3]) + paddle.ones([2])
except ValueError:
    print("does not fit")
print(paddle.broadcast_to(paddle.ones([3]), [2, 3]).shape, paddle.expand(paddle.ones([2, 1]), [2, 3]).shape)
