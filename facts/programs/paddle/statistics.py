import paddle

x = paddle.to_tensor([[1.0, 2.0], [3.0, 5.0]])
print(x.std(), x.var(axis=0), x.norm(), x.norm(p=1, axis=1))
print(paddle.dot(x[0], x[1]), x.mm(x), paddle.bmm(x.unsqueeze(0), x.unsqueeze(0)))
print(x.prod(), x.cumsum(axis=0), x.cumprod(dim=1))
print(paddle.median(x), x.min(axis=1), x.any(), x.all())
print(paddle.add_n([x, x, x]))
