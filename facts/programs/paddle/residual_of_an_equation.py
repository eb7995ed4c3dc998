import paddle

w1 = paddle.to_tensor([[0.5, -0.3, 0.2], [0.1, 0.7, -0.6]], stop_gradient=False)
w2 = paddle.to_tensor([[1.0], [-0.5], [0.25]], stop_gradient=False)
t = paddle.to_tensor([[0.1], [0.2], [0.3]], stop_gradient=False)
x = paddle.to_tensor([[0.0], [0.5], [1.0]], stop_gradient=False)
u = paddle.tanh(paddle.concat([t, x], axis=1) @ w1) @ w2
ut, ux = paddle.grad(u, [t, x], create_graph=True)
uxx, = paddle.grad(ux, [x], create_graph=True)
residual = ut - 0.3 * uxx
print(residual.squeeze().numpy())
loss = (residual ** 2).mean()
loss.backward()
print(w1.grad.numpy(), w2.grad.T.numpy())
print(t.grad.numpy().T, x.grad.numpy().T)
