"""Generate random programs: operations on memory in any order, some of which raise."""

from __future__ import annotations

import random

NAMES = "abcdef"
MAKES = (
    "mt.ones([2, 3])", "mt.arange(6)", "mt.zeros([3])", "mt.full([2, 2], 1.5)", "mt.rand([3, 2])", "mt.to_tensor(2.5)",
    "mt.zeros([100])", "mt.arange(90).reshape([9, 10])", "mt.ones([0])",
)  # fmt: skip
NORMAL = (
    "{x} + {y}", "{x} * {y}", "{x} - 1", "{x} / 2", "{x}.exp()", "{x}.sin()", "{x}.relu()", "{x}.sum()", "{x}.mean()",
    "({x} * 2 + {y}).tanh()", "{x}.clone()", "{x}.astype('float64')", "{x}[[0]]", "mt.concat([{x}, {x}])",
    "mt.split({x}, 1)[0]", "{x}.expand([2, 3])", "{x} > 0", "mt.where({x} > 0, {x}, {y})", "sum([{x}, {y}])",
)  # fmt: skip
VIEWS = (
    "{x}.reshape([-1])", "{x}.t()", "{x}[0]", "{x}[0:1]", "{x}[..., 1]", "{x}.detach()", "{x}.unsqueeze(0)", "{x}[::2]",
    "{x}.flatten()", "{x}.squeeze()", "{x}[:, 1:]", "{x}.diagonal()", "{x}.transpose([1, 0])", "{x}",
)  # fmt: skip
WRITES = (
    "{x}.add_({y})", "{x}.scale_(3)", "{x}.sin_()", "{x}.exp_()", "{x}.multiply_({y})", "{x}.zero_()", "{x}[0] = 7",
    "{x}[..., 0] = {y}", "{x}[[0]] = 2", "{x}[{x} > 1] = 0", "{x}[1:] = {x}[:-1]", "{x}.set_value({x} * 2)",
    "{x}.copy_({y})", "{x}.fill_(4)", "{x}.reshape_([-1])", "{x}.t_()", "{x}.flatten_()", "{x}.relu_()",
    "{x}.clip_(0, 1)",
)  # fmt: skip
GRADIENT = (
    "{x}.stop_gradient = False", "{x}.sum().backward()", "{x}.backward()", "{x}.stop_gradient = True",
    "{x}.retain_grads()", "{x}.clear_grad()", "({x} * {y}).sum().backward(retain_graph=True)",
    "mt.grad({x}.sum(), {y}, allow_unused=True)",
)  # fmt: skip


# Lines that change the storage of tensors, share memory with numpy, or use custom layers and optimizers.
RARER = (
    "{x}.cast_('float64')", "{x}.cast_('float32')", "{x}.resize_([2])", "{x}.resize_([3, 3])", "{x}.set_({y})",
    "{x}.set_({y}.detach(), [2], [1], 1)", "{x}.apply_(lambda x: x * 2)",
    "{x} = mt.from_numpy(np.ones(4, 'float32'))", "{x} = mt.from_numpy(n)", "n = {x}.numpy(share=True)",
    "n = {x}.detach().numpy(share=True)", "n[0] = 5", "n[...] = 3", "n = np.ones((2, 3), 'float32')", "del n",
    "{x} = Double.apply({y})", "{x} = Add.apply({y}, {x})", "Scale.apply({x})", "{x}, {y} = Both.apply({x}, {y})",
    "mt.optimizer.SGD(0.1, [{x}]).step()", "opt = mt.optimizer.Adam(0.1, [{x}])", "opt.step()",
    "{x} = mt.grad({y}.sum(), {x}, create_graph=True)[0]", "{x}._bump_inplace_version()", "{x} = {y}.data",
    "{x}.data = {y}", "{x} = torch.as_tensor(n)", "{x}.grad.add_(1)", "{x} = {y}.grad",
)  # fmt: skip

LAYERS = """\
import numpy as np
import minitensor.torch as torch
n = np.zeros(4, 'float32')
class Double(mt.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2
    @staticmethod
    def backward(ctx, g):
        ctx.saved_tensor()
        return g * 2
class Add(mt.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x, y):
        z = x + y
        ctx.save_for_backward(z)
        return z
    @staticmethod
    def backward(ctx, g):
        ctx.saved_tensor()
        return g, g
class Scale(mt.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        x.scale_(3)
        return x
    @staticmethod
    def backward(ctx, g):
        return g * 3
class Both(mt.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y, x + y
    @staticmethod
    def backward(ctx, g, h):
        x, y = ctx.saved_tensor()
        return g * y + h, g * x + h
"""

POLICY = "with mt.set_inplace_policy('copy_on_write'):"


def program(seed: int, rarer: bool = False) -> str:
    """Return a random program. It catches the errors of its lines and continues.

    Args:
        rarer: True to include changes of storage, shared memory and custom layers.
    """
    draw = random.Random(seed)
    makes = draw.choice([MAKES, MAKES[:1] + MAKES[4:5], ("mt.rand([4])", "mt.ones([1])")])
    lines = [f"{name} = {draw.choice(makes)}" for name in NAMES]
    for name in draw.sample(NAMES, draw.randint(2, 5) if rarer else draw.randint(0, 3)):
        lines += ["try:", f"    {name}.stop_gradient = False", f"    {name} = {name} * {draw.choice(('1', '2', name))}"]
        lines.append("except TypeError: pass")
    for _ in range(draw.randint(20, 45) if rarer else draw.randint(3, 20)):
        lines += _lines(draw, 0, rarer)
    start = (LAYERS if rarer else "") + "try:\n    pass\nexcept ValueError:\n    pass\n"
    return start + "\n".join(lines) + "\n"


def _lines(draw: random.Random, depth: int, rarer: bool) -> list[str]:
    x, y, z = draw.choice(NAMES), draw.choice(NAMES), draw.choice(NAMES)
    what = draw.random()
    if rarer and draw.random() < 0.35:
        return ["try:", "    " + draw.choice(RARER).format(x=x, y=y), "except Exception: pass"]
    if what < 0.22:
        line = f"{z} = " + draw.choice(NORMAL)
    elif what < 0.42:
        line = f"{z} = " + draw.choice(VIEWS)
    elif what < 0.68:
        line = draw.choice(WRITES)
    elif what < 0.84:
        line = draw.choice(GRADIENT)
    elif what < 0.85:
        line = f"del {x}"
    elif depth < 2:
        inside = [f"    {line}" for _ in range(draw.randint(1, 3)) for line in _lines(draw, depth + 1, rarer)]
        head = draw.choice(
            [
                "with mt.no_grad():",
                POLICY,
                POLICY,
                "for i in range(2):",
                "if True:",
                f"for {z} in [{x}, {y}]:",
                "def g({x}):",
            ]
        )
        if head.startswith("def"):
            body = [f"    {line}" for line in inside]
            call = [f"        return {x}", f"    {z} = g({y})", "except Exception: pass"]
            return ["try:", f"    def g({x}):", *body, *call]
        return ["try:", f"    {head.format(x=x)}", *[f"    {line}" for line in inside], "except Exception: pass"]
    else:
        line = f"print({x})"
    return ["try:", f"    {line.format(x=x, y=y)}", "except Exception: pass"]
