"""The operations of the derivative table as methods of Tensor and as Python's operators.

As in Paddle, ``x += y`` makes a new tensor, like ``x + y``, and binds the name ``x`` to it. Only operations whose names
end in an underscore work in place.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from minitensor.engine.checks import LARGEST
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.device.arrays import as_array
from minitensor.engine.dtypes import HALVES
from minitensor.engine.operations.compiling import FUNCTIONS
from minitensor.engine.operations.operands import NUMBERS, converted
from minitensor.engine.table import ROWS


def found_in(namespace: str) -> list[str]:
    """Return the names of the operations in a namespace: ``T`` for Tensor, ``m`` minitensor, ``F`` nn.functional."""
    return [
        name
        for row in ROWS.values()
        if namespace in row.namespaces
        for each in (row.name, *row.aliases)
        for name in (each, each + "_")
        if name in FUNCTIONS
    ]


class Method:
    """A placeholder for a method of ``owner``. On first use, the compiled function replaces it in the class."""

    __slots__ = ("owner", "functions", "name")

    def __init__(self, owner: type, functions: Mapping[str, Any], name: str) -> None:
        self.owner, self.functions, self.name = owner, functions, name

    def __get__(self, x: Tensor | None, kind: type) -> Any:
        function = self.functions[self.name]
        setattr(self.owner, self.name, function)
        return function.__get__(x, kind)


for _name in found_in("T"):
    setattr(Tensor, _name, Method(Tensor, FUNCTIONS, _name))


def _reflected(name: str) -> Any:
    """Return the operation with its two operands swapped, for operators such as ``__radd__``."""
    form = FUNCTIONS.forms[name]
    swapped = replace(form, signature=re.sub("^x, y", "y, x", form.signature))
    return FUNCTIONS.function(swapped, f"reflected_{name}")


def _comparison(name: str) -> Callable[..., Any]:
    """Return the method for a comparison operator.

    A number may lie outside the range of the tensor's dtype, so the row's function compares with the number itself.
    """
    function, forward = FUNCTIONS[name], ROWS[name].forward

    def compare(x: Tensor, y: Any) -> Any:
        if isinstance(y, NUMBERS):
            if isinstance(y, int) and not -LARGEST <= y < LARGEST:
                y = math.inf if y > 0 else -math.inf  # too large for numpy; infinity compares in the same way
            if x._array.dtype in HALVES:  # numpy may compare with the unrounded number
                y = converted(np.asarray(y, np.float64), x._array.dtype)[()]  # a scalar works beside any device's array
            return Tensor._made(as_array(forward(x._array, y)), name, (x,))
        # After NotImplemented, Python tries the method of the other operand; if that fails, == and != compare identity.
        return function(x, y) if isinstance(y, (Tensor, np.ndarray, list, tuple)) else NotImplemented

    return compare


_OPERATORS = {
    "__add__": FUNCTIONS["add"],
    "__sub__": FUNCTIONS["subtract"],
    "__mul__": FUNCTIONS["multiply"],
    "__truediv__": FUNCTIONS["divide"],
    "__pow__": FUNCTIONS["pow"],
    "__matmul__": FUNCTIONS["matmul"],
    "__floordiv__": FUNCTIONS["floor_divide"],
    "__mod__": FUNCTIONS["remainder"],
    "__and__": FUNCTIONS["bitwise_and"],
    "__or__": FUNCTIONS["bitwise_or"],
    "__xor__": FUNCTIONS["bitwise_xor"],
    "__invert__": FUNCTIONS["bitwise_not"],
    "__radd__": _reflected("add"),
    "__rand__": _reflected("bitwise_and"),
    "__ror__": _reflected("bitwise_or"),
    "__rxor__": _reflected("bitwise_xor"),
    "__rsub__": _reflected("subtract"),
    "__rmul__": _reflected("multiply"),
    "__rtruediv__": _reflected("divide"),
    "__rpow__": _reflected("pow"),
    "__rmatmul__": _reflected("matmul"),
    "__rfloordiv__": _reflected("floor_divide"),
    "__rmod__": _reflected("remainder"),
    "__neg__": FUNCTIONS["neg"],
    "__abs__": FUNCTIONS["abs"],
    "__round__": FUNCTIONS["round"],
    "__eq__": _comparison("equal"),
    "__ne__": _comparison("not_equal"),
    "__lt__": _comparison("less_than"),
    "__le__": _comparison("less_equal"),
    "__gt__": _comparison("greater_than"),
    "__ge__": _comparison("greater_equal"),
}

for _name, _function in _OPERATORS.items():
    setattr(Tensor, _name, _function)
