"""Paddle programs with common mistakes that raise an error or silently compute a wrong gradient, and the repairs.

Each program begins with a leaf ``w`` that has the numbers ``START``, and binds its result to ``loss``. Tests run it
again with slightly different numbers to find the right gradient.
"""

from __future__ import annotations

from tests.support.peers.classics import Classic

START = [0.75, 2.0]

_LEAF = "w = paddle.to_tensor(START, stop_gradient=False)\n"

#: Paddle raises an error.
FAILING = {
    "recurrent state": Classic(
        """\
h = paddle.ones([2])
for t in range(3):
    h = h * w
    out = h.tanh() * h
    h.scale_(0.5)
loss = out.sum()
loss.backward()
""",
        6,
        ("`multiply` in line 5 saved", "overwrites `h`"),
        {6: "    h = h.scale(0.5)"},
    ),
    "relu in place after a residual": Classic(
        """\
y = w * 2 - 2
gate = F.sigmoid(y) * y
z = F.relu_(y) + gate
loss = z.sum()
loss.backward()
""",
        4,
        ("overwrites `y`", "line 3"),
        {4: "z = F.relu(y) + gate"},
    ),
    "masked assignment in forward": Classic(
        """\
x = w.exp()
mask = x > 3
x[mask] = 0.0
loss = x.sum()
loss.backward()
""",
        4,
        ("overwrites `x`", "`exp` in line 2 saved"),
        {4: "x = paddle.where(mask, paddle.full_like(x, 0.0), x)"},
    ),
    "normalising an input in place": Classic(
        """\
x = w.exp()
x.subtract_(x.mean())
loss = (x * x).sum()
loss.backward()
""",
        3,
        ("overwrites `x`", "`exp` in line 2 saved"),
        {3: "x = x.subtract(x.mean())"},
    ),
    "normalising a leaf in place": Classic(
        """\
w.scale_(0.5)
loss = (w * w).sum()
loss.backward()
""",
        2,
        ("can't use inplace strategy", "changes the leaf itself"),
        {2: "x = w.scale(0.5)", 3: "loss = (x * x).sum()"},
        written=False,
    ),
    "the gradient of a non-leaf": Classic(
        """\
h = w * 2
loss = h.sum()
loss.backward()
total = h.grad.sum()
""",
        5,
        ("`h` is not a leaf", "`h.retain_grads()` before `backward()`"),
        {4: "h.retain_grads(); loss.backward()"},
        written=False,
    ),
    "a leaf updated by w = w - lr * w.grad": Classic(
        """\
leaf = w
for step in range(2):
    loss = (w * w).sum()
    loss.backward()
    w = w - 0.1 * w.grad
""",
        6,
        ("`w` is not a leaf", "`with paddle.no_grad(): w.subtract_(0.1 * w.grad)`"),
        {6: "    with paddle.no_grad(): w.subtract_(0.1 * w.grad)"},
        written=False,
    ),
}

#: Paddle raises no error, and the gradient of ``w`` is wrong.
SILENT = {
    "a write through a view": Classic(
        "h = w * 1\nv = h[0:1]\nv.scale_(10.0)\nloss = h.sum()\nloss.backward()\n",
        4,
        ("its history does not contain the write", "Assign to `h` itself"),
        {4: "h[0:1] = v * 10.0"},
        written=False,
        fails=False,
    ),
    "a view that was taken before the write": Classic(
        "h = w * 1\nv = h[0:1]\nh.scale_(10.0)\nloss = v.sum()\nloss.backward()\n",
        4,
        ("`v` uses the same memory", "Take `v` after this line"),
        {4: "h.scale_(10.0); v = h[0:1]"},
        written=False,
        fails=False,
    ),
    "rows of a buffer": Classic(
        "buffer = paddle.zeros([4])\nrow = buffer[0:2]\nrow.add_(w * 3)\nloss = buffer.sum()\nloss.backward()\n"
        "gradient = [0.0, 0.0] if w.grad is None else w.grad\n",
        4,
        ("`buffer` uses the same memory and has no history", "Assign to `buffer` itself"),
        {4: "buffer[0:2] = row + w * 3"},
        written=False,
        fails=False,
    ),
    "views of unbind": Classic(
        "h = (w * 1).reshape([2, 1])\na, b = h.unbind()\na.scale_(3.0)\nloss = h.sum()\nloss.backward()\n",
        4,
        ("`h` uses the same memory",),
        {4: "h[0] = a * 3.0"},
        written=False,
        fails=False,
    ),
    "set_value": Classic(
        "x = w * 1\ny = x * x\nx.set_value(paddle.zeros([2]))\nloss = y.sum()\nloss.backward()\n",
        4,
        ("does not increase the version", "its gradients will be wrong", "Call `backward()` before this line"),
        {4: "loss = y.sum(); loss.backward()", 5: "x.set_value(paddle.zeros([2]))", 6: ""},
        written=False,
        fails=False,
    ),
    "a step between forward and backward": Classic(
        "opt = paddle.optimizer.Adam(0.5, parameters=[w])\nw.grad = paddle.ones([2])\nloss = (w * w).sum()\n"
        "opt.step()\nopt.clear_grad()\nloss.backward()\n",
        5,
        ("overwrites `w`, which `multiply` in line 4 saved", "Call every `backward()` before `opt.step()`"),
        {5: "opt.clear_grad()", 6: "loss.backward()", 7: "gradient = w.grad.clone(); opt.step()"},
        written=False,
        fails=False,
    ),
    "two backwards and a step (GAN)": Classic(
        "d = paddle.create_parameter([2], 'float32', default_initializer=paddle.nn.initializer.Constant(3.0))\n"
        "opt = paddle.optimizer.Momentum(0.5, parameters=[d])\nscore = (d * (w * 2)).sum()\nloss = 1 - score\n"
        "score.backward(retain_graph=True)\nw.clear_grad()\nopt.step()\nloss.backward()\n",
        8,
        ("overwrites `d`, which `multiply` in line 4 saved", "Call every `backward()` before `opt.step()`"),
        {8: "loss.backward()", 9: "opt.step()"},
        written=False,
        fails=False,
    ),
    "BatchNorm in evaluation": Classic(
        "bn = paddle.nn.BatchNorm1D(1)\nbn.eval()\ny = bn((w * 1).reshape([2, 1]))\nbn.train()\n"
        "z = bn(paddle.to_tensor([[2.0], [8.0]]))\nloss = y.sum()\nloss.backward()\n",
        6,
        ("does not increase the version", "`backward()` before this line"),
        {6: "loss = y.sum()", 7: "loss.backward()", 8: "z = bn(paddle.to_tensor([[2.0], [8.0]]))"},
        written=False,
        fails=False,
    ),
    "a PyLayer": Classic(
        "class Square(paddle.autograd.PyLayer):\n"
        "    @staticmethod\n    def forward(ctx, x):\n        ctx.save_for_backward(x)\n        return x * x\n"
        "    @staticmethod\n    def backward(ctx, g):\n        return g * 2 * ctx.saved_tensor()[0]\n"
        "a = w * 1\ny = Square.apply(a)\na.scale_(10.0)\nloss = y.sum()\nloss.backward()\n",
        12,
        ("`Square` in line 11 saved", "does not check the version of that tensor", "its gradients will be wrong"),
        {12: "loss = y.sum(); loss.backward()", 13: "a.scale_(10.0)", 14: ""},
        written=False,
        fails=False,
    ),
    "a write under no_grad": Classic(
        "a = w * 2\nwith paddle.no_grad():\n    a.scale_(5.0)\nloss = a.sum()\nloss.backward()\n",
        4,
        ("The write is not in the history",),
        {3: "if True:"},
        written=False,
        fails=False,
    ),
}


def source(classic: Classic) -> str:
    """Return the whole program: the line that creates the leaf, and the lines of ``classic``."""
    return _LEAF + classic.program


def fixed(classic: Classic) -> str:
    """Return the program with its repair."""
    lines = source(classic).splitlines()
    for number, text in classic.fix.items():
        lines[number - 1] = text
    return "\n".join(lines) + "\n"
