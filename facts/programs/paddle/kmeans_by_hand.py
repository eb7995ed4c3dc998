import paddle

points = paddle.to_tensor([[0.0, 0.1], [0.2, -0.1], [5.0, 5.1], [4.9, 5.3], [-4.0, 4.0], [-4.2, 3.7]])
centres = paddle.gather(points, paddle.to_tensor([0, 2, 4]))
for step in range(3):
    d = ((points.unsqueeze(1) - centres.unsqueeze(0)) ** 2).sum(axis=-1)
    nearest = d.argmin(axis=1)
    onehot = paddle.nn.functional.one_hot(nearest, 3)
    counts = onehot.sum(axis=0).clip(min=1)
    centres = paddle.matmul(onehot, points, transpose_x=True) / counts.unsqueeze(1)
print(nearest.numpy(), centres.numpy())
print(d.min(axis=1).numpy(), paddle.topk(d, 2, largest=False)[1].numpy())
mine = points[nearest == 1]
print(mine.numpy(), mine.mean(axis=0).numpy())
order = paddle.argsort(points[:, 0], descending=True)
print(order.numpy(), paddle.index_select(points, order[:2]).numpy())
print(paddle.unique(nearest, return_counts=True)[1].numpy())
