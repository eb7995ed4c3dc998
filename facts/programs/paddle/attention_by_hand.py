import math
import paddle
import paddle.nn.functional as F

q = (paddle.arange(12.0).reshape([1, 3, 4]) / 10).detach()
k = q.clone()
v = q.clone()
v.stop_gradient = False
scores = q @ k.transpose([0, 2, 1]) / math.sqrt(4)
mask = paddle.tril(paddle.ones([3, 3])) == 0
scores = paddle.where(mask, paddle.full_like(scores, -1e9), scores)
att = F.softmax(scores, axis=-1)
print(att)
(att @ v).sum().backward()
print(v.grad)
