import math

import numpy as np
import paddle

# by numpy
xs = np.linspace(-math.pi, math.pi, 500)
ys = np.sin(xs)
rng = np.random.default_rng(0)
start = rng.standard_normal(4) * 0.1
p = start.copy()
powers = np.stack([xs**i for i in range(4)], axis=1)
for t in range(200):
    difference = powers @ p - ys
    p -= 1e-5 * 2 * powers.T @ difference
print("numpy", [f"{c:.4f}" for c in p], f"{(difference**2).sum():.3f}")

x = paddle.to_tensor(xs, dtype="float32")
y = paddle.sin(x)
first = [float(c) for c in start]

# by tensors
a, b, c, d = (paddle.to_tensor(v) for v in first)
for t in range(200):
    y_pred = a + b * x + c * x**2 + d * x**3
    grad_y_pred = 2.0 * (y_pred - y)
    a -= 1e-5 * grad_y_pred.sum()
    b -= 1e-5 * (grad_y_pred * x).sum()
    c -= 1e-5 * (grad_y_pred * x**2).sum()
    d -= 1e-5 * (grad_y_pred * x**3).sum()
print("tensors", f"{a.item():.4f} {b.item():.4f} {c.item():.4f} {d.item():.4f}")

# by autograd
ways = [paddle.to_tensor(v, stop_gradient=False) for v in first]
for t in range(200):
    a, b, c, d = ways
    loss = ((a + b * x + c * x**2 + d * x**3 - y) ** 2).sum()
    loss.backward()
    with paddle.no_grad():
        for w in ways:
            w.subtract_(1e-5 * w.grad)
            w.clear_grad()
print("autograd", " ".join(f"{w.item():.4f}" for w in ways), f"{loss.item():.3f}")

# by a layer, with a loss and an optimizer
model = paddle.nn.Linear(3, 1)
model.weight.set_value(np.array(first[1:], dtype="float32").reshape(3, 1))
model.bias.set_value(np.array(first[:1], dtype="float32"))
xx = paddle.stack([x, x**2, x**3], axis=1)
loss_fn = paddle.nn.MSELoss(reduction="sum")
optimizer = paddle.optimizer.RMSProp(learning_rate=1e-3, parameters=model.parameters())
for t in range(200):
    loss = loss_fn(model(xx).flatten(), y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
print("optimizer", [f"{v:.4f}" for v in model.weight.flatten().tolist()], f"{loss.item():.1f}")


# by a function of one's own: Legendre's polynomial of degree 3
class LegendrePolynomial3(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return 0.5 * (5 * input**3 - 3 * input)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensor()
        return grad_output * 1.5 * (5 * input**2 - 1)


ways = [paddle.to_tensor(v, stop_gradient=False) for v in (0.0, -1.0, 0.0, 0.3)]
optimizer = paddle.optimizer.SGD(learning_rate=5e-6, parameters=ways)
for t in range(200):
    a, b, c, d = ways
    loss = loss_fn(a + b * LegendrePolynomial3.apply(c + d * x), y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
print("own function", f"{ways[1].item():.4f} {ways[3].item():.4f} {loss.item():.3f}")
