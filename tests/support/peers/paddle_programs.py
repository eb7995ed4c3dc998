"""Random Paddle programs: views, writes and gradients in any order. Errors are recorded, and the program continues."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from typing import Any

NAMES = "abcde"
MAKES = ("x * 1", "x * y", "y * 2", "(x + y).reshape([6])", "(x * 3).reshape([6])", "y.exp()")
NORMAL = (
    "{x} + {y}", "{x} * {y}", "{x} - 1.0", "{x} / 2", "{x} * {x}", "{x}.exp()", "{x}.sin()", "{x}.tanh()",
    "paddle.nn.functional.relu({x})", "{x}.sum()", "{x}.mean()", "({x} * 2 + {y}).tanh()", "{x}.clone()",
    "paddle.concat([{x}, {x}])", "paddle.split({x}, 2)[0]", "paddle.where({x} > 0, {x}, {y})", "{x} / {y}", "{x} ** 2",
    "{x}.sqrt()", "{x}.abs()", "paddle.nn.functional.softmax({x})", "paddle.stack([{x}, {y}])", "{x}.cumsum()", "-{x}",
    "paddle.maximum({x}, {y})", "{x}.log1p()", "{x}.square()", "{x}.sigmoid()", "paddle.nn.functional.gelu({x})",
    "{x}.max()", "{x}.prod()", "{x}.astype('float64').astype('float32')", "2.0 / ({x} + 3)",
)  # fmt: skip
VIEWS = (
    "{x}.reshape([-1])", "{x}[0]", "{x}[0:1]", "{x}.detach()", "{x}.unsqueeze(0)", "{x}[::2]", "{x}.flatten()",
    "{x}.squeeze()", "{x}[1:]", "{x}", "{x}.T", "paddle.unbind({x})[0]", "{x}[..., 0]",
)  # fmt: skip
WRITES = (
    "{x}.add_({y})", "{x}.scale_(3.0)", "{x}.sin_()", "{x}.exp_()", "{x}.multiply_({y})", "{x}.zero_()", "{x}[0] = 0.5",
    "{x}[0:1] = {y}[0:1]", "{x}[{x} > 1] = 0.25", "{x}.set_value({x} * 0.5)", "{x}.copy_({y}, True)", "{x}.fill_(0.75)",
    "{x}.reshape_([-1])", "{x}.flatten_()", "{x}.clip_(0., 1.)", "{x}.tanh_()", "{x}.subtract_({y})", "{x}.sqrt_()",
    "{x}.multiply_({x})", "paddle.assign({y}, {x})", "{x}.unsqueeze_(0)", "paddle.nn.functional.relu_({x})",
)  # fmt: skip
GRADIENT = (
    "{x}.sum().backward()", "{x}.backward(retain_graph=True)", "{x}.stop_gradient = True", "x.clear_grad()",
    "g = paddle.grad({x}.sum(), x, allow_unused=True, retain_graph=True)", "{x}.retain_grads()",
)  # fmt: skip
START = """\
x = paddle.to_tensor([0.5, 1.5, 2.5, 0.25, 1.0, 2.0], stop_gradient=False)
y = paddle.to_tensor([1.0, 0.5, 2.0, 1.25, 0.75, 3.0], stop_gradient={frozen})
"""


def program(seed: int, gradient: bool = True) -> str:
    """Return a program that runs 8 to 30 random statements on seven tensors, and records its errors in ``errors``.

    Args:
        gradient: True if the program may call backward or ``grad``, and change ``stop_gradient``.
    """
    draw = random.Random(seed)
    lines = [f"{name} = {draw.choice(MAKES)}" for name in NAMES]
    for _ in range(draw.randint(8, 30)):
        a, b, c = (draw.choice(NAMES) for _ in range(3))
        what = draw.random()
        if what < 0.3:
            line = f"{c} = " + draw.choice(NORMAL).format(x=a, y=b)
        elif what < 0.5:
            line = f"{c} = " + draw.choice(VIEWS).format(x=a)
        elif what < 0.85 or not gradient:
            line = draw.choice(WRITES).format(x=a, y=b)
        else:
            line = draw.choice(GRADIENT).format(x=a)
        if draw.random() < 0.1:
            line = f"with paddle.no_grad(): {line}"
        lines += [f"try:\n    {line}", "except Exception as error:\n    errors.append(str(error))"]
    return START.format(frozen=draw.random() < 0.5) + "\n".join(lines) + "\n"


def in_a_child(function: Callable[[], Any]) -> Any:
    """Run ``function`` in a child process, because some programs crash Paddle 2.6.

    Return its result, converted to JSON and back; the text of its error; or ``crashed``.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        for output in (1, 2):  # the child's stdout and stderr: Paddle prints a long report of its crash
            os.dup2(os.open(os.devnull, os.O_WRONLY), output)
        try:
            answer = json.dumps(function(), default=str)
        except BaseException as error:
            answer = json.dumps(f"{type(error).__name__}: {error}")
        with os.fdopen(writing, "w") as pipe:
            pipe.write(answer)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else "crashed"
