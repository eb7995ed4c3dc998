import paddle

print(paddle.arange(12.0).reshape([3, 4]))
print(paddle.to_tensor([1.5, 1e-5, 1e5]))
print(paddle.to_tensor([[0.1, 100.0], [float("inf"), float("nan")]]))
print(paddle.to_tensor(3), paddle.to_tensor(3.14159))
print(paddle.arange(1100))
x = paddle.ones([2])
x.stop_gradient = False
print(x, x * 2)
x.sum().backward()
print(x.grad)
print(x[0].item(), x.tolist(), float(x.sum()), f"{float(x[1]):.2f}")
