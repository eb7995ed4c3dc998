import math

import numpy as np
import torch

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

x = torch.tensor(xs, dtype=torch.float)
y = torch.sin(x)
first = [float(c) for c in start]

# by tensors
a, b, c, d = (torch.tensor(v) for v in first)
for t in range(200):
    y_pred = a + b * x + c * x**2 + d * x**3
    grad_y_pred = 2.0 * (y_pred - y)
    a -= 1e-5 * grad_y_pred.sum()
    b -= 1e-5 * (grad_y_pred * x).sum()
    c -= 1e-5 * (grad_y_pred * x**2).sum()
    d -= 1e-5 * (grad_y_pred * x**3).sum()
print("tensors", f"{a.item():.4f} {b.item():.4f} {c.item():.4f} {d.item():.4f}")

# by autograd
a, b, c, d = (torch.tensor(v, requires_grad=True) for v in first)
for t in range(200):
    y_pred = a + b * x + c * x**2 + d * x**3
    loss = (y_pred - y).pow(2).sum()
    loss.backward()
    with torch.no_grad():
        for w in (a, b, c, d):
            w -= 1e-5 * w.grad
            w.grad = None
print("autograd", f"{a.item():.4f} {b.item():.4f} {c.item():.4f} {d.item():.4f} {loss.item():.3f}")

# by modules, with a loss and an optimizer
model = torch.nn.Sequential(torch.nn.Linear(3, 1), torch.nn.Flatten(0, 1))
with torch.no_grad():
    model[0].weight.copy_(torch.tensor([first[1:]]))
    model[0].bias.fill_(first[0])
xx = x.unsqueeze(-1).pow(torch.tensor([1, 2, 3]))
loss_fn = torch.nn.MSELoss(reduction="sum")
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
for t in range(200):
    loss = loss_fn(model(xx), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("optimizer", [f"{v:.4f}" for v in model[0].weight[0].tolist()], f"{loss.item():.3f}")


# by a function of one's own: Legendre's polynomial of degree 3
class LegendrePolynomial3(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return 0.5 * (5 * input**3 - 3 * input)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output * 1.5 * (5 * input**2 - 1)


class Polynomial(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c, self.d = (torch.nn.Parameter(torch.tensor(v)) for v in (0.0, -1.0, 0.0, 0.3))

    def forward(self, x):
        return self.a + self.b * LegendrePolynomial3.apply(self.c + self.d * x)


model = Polynomial()
optimizer = torch.optim.SGD(model.parameters(), lr=5e-6)
for t in range(200):
    loss = loss_fn(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("own function", f"{model.b.item():.4f} {model.d.item():.4f}", f"{loss.item():.3f}")
