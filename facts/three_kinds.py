"""Record in three-kinds.json the results of the programs of chapter 2 in NumPy, PyTorch and Paddle.

    python facts/three_kinds.py numpy      in an environment that has numpy
    python facts/three_kinds.py torch
    python facts/three_kinds.py paddle

A record has the program, and the values of the expressions or, if an error is raised, the error.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from recording import Questions, write

QUESTIONS: Questions = {
    "augmented assignment": (
        {
            "numpy": "x = numpy.zeros(1); y = x; y += 1",
            "torch": "x = torch.zeros(1); y = x; y += 1",
            "paddle": "x = paddle.zeros([1]); y = x; y += 1",
        },
        ["x.tolist()", "y is x", "hasattr(x, '__iadd__')"],
    ),
    "the other augmented assignments": (
        {
            "numpy": "import operator; x = numpy.ones(1)",
            "torch": "import operator; x = torch.ones(1)",
            "paddle": "import operator; x = paddle.ones([1])",
        },
        [f"operator.{name}(x, 2) is x" for name in ["isub", "imul", "itruediv", "ifloordiv", "imod", "ipow"]],
    ),
    "what an in-place method returns": (
        {
            "torch": "x = torch.zeros(1); y = x.add_(torch.ones(1))",
            "paddle": "x = paddle.zeros([1]); y = x.add_(paddle.ones([1]))",
        },
        ["x.tolist()", "y is x"],
    ),
    "in-place functions": (
        {"torch": "pass", "paddle": "pass"},
        [f"hasattr({{library}}{name}')" for name in [", 'add_", ", 'sin_", ".nn.functional, 'relu_"]],
    ),
    "a number as operand": (
        {"torch": "x = torch.zeros(1); x.add_(1.0)", "paddle": "x = paddle.zeros([1]); x.add_(1.0)"},
        ["x.tolist()"],
    ),
    "a number as operand of the normal operation": (
        {"torch": "x = torch.zeros(1); y = x.add(1.0)", "paddle": "x = paddle.zeros([1]); y = x.add(1.0)"},
        ["y.tolist()"],
    ),
    "alpha": (
        {
            "torch": "x = torch.zeros(1); x.add_(torch.ones(1), alpha=2)",
            "paddle": "x = paddle.zeros([1]); x.add_(paddle.ones([1]), alpha=2)",
        },
        ["x.tolist()"],
    ),
    "transpose": (
        {"torch": "x = torch.zeros(3, 4); y = x.t()", "paddle": "x = paddle.zeros([3, 4]); y = x.transpose([1, 0])"},
        ["y.data_ptr() == x.data_ptr()"],
    ),
    "transpose in place": (
        {
            "torch": "x = torch.zeros(3, 4); before = x.data_ptr(); x.t_(); version = x._version",
            "paddle": "x = paddle.zeros([3, 4]); before = x.data_ptr(); x.transpose_([1, 0]); "
            "version = x.inplace_version",
        },
        ["x.data_ptr() == before", "version"],
    ),
    "a result that does not fit": (
        {
            "numpy": "x = numpy.zeros(3); x += numpy.ones((2, 3))",
            "torch": "x = torch.zeros(3); x.add_(torch.ones(2, 3))",
            "paddle": "x = paddle.zeros([3]); x.add_(paddle.ones([2, 3]))",
        },
        ["x.tolist()"],
    ),
}


def ask(library: str, program: str, expressions: list[str]) -> dict[str, Any]:
    """Run `program`, and evaluate the expressions, in which `{library}` is replaced. Return the values or an error."""
    names = {library: importlib.import_module(library)}
    asked = [expression.format(library=library) for expression in expressions]
    try:
        exec(program, names)
        return {"program": program, "values": {expression: eval(expression, names) for expression in asked}}
    except Exception as error:
        return {"program": program, "error": f"{type(error).__name__}: {error}".strip()}


if __name__ == "__main__":
    write(Path(__file__).with_name("three-kinds.json"), QUESTIONS, ask)
