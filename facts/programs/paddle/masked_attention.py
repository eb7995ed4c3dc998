import paddle
import paddle.nn.functional as F

q = paddle.linspace(-1, 1, 24).reshape([1, 2, 4, 3])
k = paddle.linspace(1, -1, 24).reshape([1, 2, 4, 3])
v = paddle.arange(24, dtype="float32").reshape([1, 2, 4, 3])
for t in (q, k, v):
    t.stop_gradient = False
mask = paddle.triu(paddle.ones([4, 4]), diagonal=1)
scores = paddle.matmul(q, k, transpose_y=True) / 3 ** 0.5
weights = F.softmax(scores + mask * -1e9, axis=-1)
out = weights @ v
print(out[0, 0].numpy().round(4))
out.sum().backward()
print(q.grad[0, 0].numpy().round(4), v.grad[0, 1].numpy().round(4))
kept = paddle.where(mask > 0, paddle.zeros_like(mask), mask + 1)
print(kept.numpy(), paddle.tril(weights[0, 0]).equal_all(weights[0, 0]).item())
