"""PyTorch programs with common mistakes, the lines at fault, and the repairs.

Each `Classic` has the program, the number of the line at fault, words that the report must contain, and the repair: a
dictionary from line numbers to the changed lines. `written` is True if the report contains the repaired line, and
`fails` is True if the program raises an error.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Classic:
    """A program with a common mistake, and its repair."""

    program: str
    line: int
    words: tuple[str, ...]
    fix: dict[int, str] = field(default_factory=dict)
    written: bool = True
    fails: bool = True


CLASSICS = {
    "recurrent state": Classic(
        """\
w = torch.tensor([0.5, 2.0], requires_grad=True)
h = torch.ones(2)
for t in range(3):
    h = h * w
    out = h.tanh() * h
    h.mul_(0.5)
out.sum().backward()
""",
        6,
        ("`mul` in line 5 saved", "overwrites `h`"),
        {6: "    h = h.mul(0.5)"},
    ),
    "rows of a buffer": Classic(
        """\
w = torch.tensor([0.5, 2.0], requires_grad=True)
h = torch.zeros(3, 2)
h[0] = w
for t in range(2):
    h[t + 1] = h[t] * w
h.sum().backward()
""",
        5,
        ("writes other elements", "`mul` in line 5", "torch.stack"),
        {2: "h = [w]", 3: "", 5: "    h.append(h[t] * w)", 6: "torch.stack(h).sum().backward()"},
        written=False,
    ),
    "relu in place after a residual": Classic(
        """\
x = torch.tensor([-1.0, 2.0], requires_grad=True)
y = x * 2
gate = torch.sigmoid(y) * y
z = F.relu(y, inplace=True) + gate
z.sum().backward()
""",
        4,
        ("overwrites `y`", "line 3"),
        {4: "z = F.relu(y) + gate"},
    ),
    "two backwards and a step (GAN)": Classic(
        """\
G = nn.Linear(1, 1)
D = nn.Linear(1, 1)
od = torch.optim.SGD(D.parameters(), lr=0.1)
fake = G(torch.ones(1, 1))
score = D(fake)
lossD = score.sum()
lossG = (1 - score).sum()
lossD.backward(retain_graph=True)
od.step()
lossG.backward()
""",
        9,
        ("overwrites `D.weight`", "`linear` in line 5 saved", "Call every `backward()` before `od.step()`"),
        {9: "lossG.backward()", 10: "od.step()"},
        written=False,
    ),
    "a step between forward and backward": Classic(
        """\
net = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.ones(1, 2)).sum().backward()
loss = net(torch.ones(1, 2)).sum()
opt.step()
loss.backward()
""",
        5,
        ("overwrites `net[2].weight`", "`linear` in line 4 saved", "before `opt.step()`"),
        {5: "loss.backward()", 6: "opt.step()"},
        written=False,
    ),
    "masked assignment in forward": Classic(
        """\
w = torch.tensor([-1.0, 2.0], requires_grad=True)
x = w.exp()
mask = x > 1
x[mask] = 0
x.sum().backward()
""",
        4,
        ("overwrites `x`", "`exp` in line 2 saved"),
        {4: "x = torch.where(mask, 0, x)"},
    ),
    "normalising an input in place": Classic(
        """\
w = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
x = w.exp()
x -= x.mean()
x.sum().backward()
""",
        3,
        ("overwrites `x`", "`exp` in line 2 saved"),
        {3: "x = x - x.mean()"},
    ),
    "normalising a leaf in place": Classic(
        """\
x = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
x /= 2
x.sum().backward()
""",
        2,
        ("leaf Variable",),
        {2: "x = x / 2"},
    ),
    "x.data": Classic(
        """\
w = torch.tensor([1.0, 2.0], requires_grad=True)
x = w * 1
y = x * x
x.data.mul_(10)
y.sum().backward()
""",
        4,
        ("does not increase the version", "its gradients will be wrong"),
        {4: "x = x.detach().clone(); x.mul_(10)"},
        written=False,
        fails=False,
    ),
    "shared numpy memory": Classic(
        """\
w = torch.tensor([1.0, 2.0], requires_grad=True)
x = w * 1
n = x.detach().numpy()
y = x * x
n[0] = 7
y.sum().backward()
""",
        5,
        ("does not increase the version", "`.numpy().copy()`"),
        {3: "n = x.detach().numpy().copy()"},
        written=False,
        fails=False,
    ),
    "BatchNorm in evaluation": Classic(
        """\
bn = nn.BatchNorm1d(1)
x = torch.tensor([[1.0], [3.0]], requires_grad=True)
bn.eval()
y = bn(x * 1)
bn.train()
z = bn(torch.tensor([[2.0], [8.0]]))
y.sum().backward()
""",
        6,
        ("does not increase the version", "`backward()` before this line"),
        {6: "y.sum().backward()", 7: "z = bn(torch.tensor([[2.0], [8.0]]))"},
        written=False,
        fails=False,
    ),
    "the gradient of a non-leaf": Classic(
        """\
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w * 2
h.sum().backward()
total = h.grad.sum()
""",
        4,
        ("`h` is not a leaf", "`h.retain_grad()` before `backward()`"),
        {3: "h.retain_grad(); h.sum().backward()"},
        written=False,
    ),
    "a leaf updated by w = w - lr * w.grad": Classic(
        """\
w = torch.tensor([1.0, 2.0], requires_grad=True)
for step in range(2):
    (w * w).sum().backward()
    w = w - 0.1 * w.grad
""",
        4,
        ("`w` is not a leaf", "`with torch.no_grad(): w -= 0.1 * w.grad`"),
        {4: "    with torch.no_grad(): w -= 0.1 * w.grad"},
        written=False,
    ),
    "an input that a function written by hand stores as an attribute": Classic(
        """\
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return grad * 2 * ctx.x

w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w * 3
y = Square.apply(h)
h.add_(1)
y.sum().backward()
""",
        14,
        ("`h`, which `Square` in line 13 saved at version 0", "`ctx.save_for_backward(x)`"),
        {14: "h = h.add(1)"},
        written=False,
        fails=False,
    ),
    "views of unbind": Classic(
        """\
w = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
h = w * 1
a, b = h.unbind()
a.add_(1)
h.sum().backward()
""",
        4,
        ("multiple views", "take each by an index"),
        {3: "a, b = h[0], h[1]"},
        written=False,
    ),
    "views of chunk": Classic(
        """\
w = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
h = w * 1
a, b = h.chunk(2)
a += 1
(a.sum() + b.sum()).backward()
""",
        4,
        ("multiple views",),
        {4: "a = a + 1"},
    ),
    "expand, then write": Classic(
        """\
x = torch.ones(3, 1)
y = x.expand(3, 2)
y.add_(1)
""",
        3,
        ("Elements share memory", "`y = y.clone()`"),
        {3: "y = y.clone(); y.add_(1)"},
        written=False,
    ),
}


def fixed(classic: Classic) -> str:
    """Return the program with its repair."""
    lines = classic.program.splitlines()
    for number, text in classic.fix.items():
        lines[number - 1] = text
    return "\n".join(lines) + "\n"
