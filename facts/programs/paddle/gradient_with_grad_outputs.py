import paddle

x = paddle.ones([3, 1])
x.stop_gradient = False
w = paddle.to_tensor([[1.0, 2.0]], stop_gradient=False)
b = paddle.to_tensor([0.5, 0.5], stop_gradient=False)
u = paddle.tanh(x @ w + b)
du = paddle.grad(u, x, grad_outputs=paddle.ones_like(u), create_graph=True)[0]
print(du)
(du ** 2).mean().backward()
print(w.grad, b.grad)
