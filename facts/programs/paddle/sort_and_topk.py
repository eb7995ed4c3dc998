import paddle

x = paddle.to_tensor([3.0, 1.0, 2.0], stop_gradient=False)
print(paddle.sort(x, descending=True), paddle.argsort(x))
values, indices = paddle.topk(x, 2)
print(values, indices)
values.sum().backward()
print(x.grad)
print(x.sort(), x.argsort(descending=True), x.argmax(), x.topk(1))
print(paddle.unique(paddle.to_tensor([1, 2, 2, 3])))
