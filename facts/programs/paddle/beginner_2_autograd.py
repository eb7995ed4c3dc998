import numpy as np
import paddle

rng = np.random.default_rng(0)
x = paddle.ones([5])
y = paddle.zeros([3])
w = paddle.to_tensor(rng.standard_normal((5, 3)).astype("float32"), stop_gradient=False)
b = paddle.to_tensor(rng.standard_normal(3).astype("float32"), stop_gradient=False)
z = paddle.matmul(x, w) + b
loss = paddle.nn.functional.binary_cross_entropy_with_logits(z, y)
loss.backward()
print(f"{loss.item():.5f}")
print(w.grad.numpy().round(5).tolist())
print(b.grad.numpy().round(5).tolist())
with paddle.no_grad():
    z = paddle.matmul(x, w) + b
print(z.stop_gradient)
print((paddle.matmul(x, w) + b).detach().stop_gradient)
inp = paddle.eye(4, 5)
inp.stop_gradient = False
out = ((inp + 1) ** 2).t()
out.backward(paddle.ones_like(out), retain_graph=True)
print(inp.grad.tolist())
out.backward(paddle.ones_like(out), retain_graph=True)
print(inp.grad.tolist())
inp.clear_grad()
out.backward(paddle.ones_like(out), retain_graph=True)
print(inp.grad.tolist())
