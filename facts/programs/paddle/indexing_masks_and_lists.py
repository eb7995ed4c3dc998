import paddle

x = paddle.arange(24, dtype="float32").reshape([2, 3, 4])
print(x[:, [0, 2]].shape, x[..., 0].shape, x[0, :, 1].numpy(), x[-1, -1].numpy())
print(x[x > 20].numpy(), x[1, 1:, ::2].numpy())
y = x.clone()
y.stop_gradient = False
z = paddle.gather(y[:, 1], paddle.to_tensor([0, 0, 1]))
z.sum().backward()
print(y.grad[:, 1].numpy())
w = x.clone()
w[w < 3] = -1.0
print(w[0].numpy())
w[:, :, 1:3] = paddle.to_tensor([7.0, 8.0])
w[0, 0] = 5
print(w[0].numpy(), w.inplace_version)
part = w[1]
part[0] = 0
print(w[1, 0].numpy())
v = paddle.zeros([3])
v[1:] = v[:2] + 1
print(v.numpy())
print(paddle.take_along_axis(x[0], paddle.to_tensor([[0], [3], [1]]), 1).numpy())
print(paddle.scatter(paddle.zeros([3, 2]), paddle.to_tensor([2, 0]), paddle.ones([2, 2])).numpy())
for bad in ("x[2]", "x[0, 0, 0, 0]"):
    try:
        eval(bad)
        print("fine")
    except (IndexError, ValueError):
        print("refused", bad)
print(x[None].shape, x[0:0].shape, x[:, -2:].shape)
