"""The operations of the table as methods, and Python's operators.

``x + y`` makes a new tensor; ``x += y`` writes into ``x``, as every name that ends with an underscore does.
Where both vocabularies meet in ``x + y``, the left operand's kind wins. A comparison gives a tensor of this vocabulary:
of ``p < t`` and ``t > p`` Python makes the same call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitensor.core.tensor import Tensor as BaseTensor
from minitensor.device.arrays import as_array
from minitensor.operations import Method
from minitensor.operations.operands import NUMBERS
from minitensor.torch.compiling import FUNCTIONS, reflected
from minitensor.torch.spelling import found_in
from minitensor.torch.tensor import Tensor

for _name in (*found_in("Tensor"), *found_in("Tensor_")):
    setattr(Tensor, _name, Method(Tensor, FUNCTIONS, _name))


def _compared(name: str) -> Callable[..., Any]:
    function = FUNCTIONS[name]
    ufunc = getattr(np, {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal",
                         "gt": "greater", "ge": "greater_equal"}[name])  # fmt: skip

    def compare(x: Tensor, y: Any) -> Any:
        if isinstance(y, NUMBERS):
            # A number need not fit into the dtype to be compared with its elements.
            result = ufunc(x._array, y)
            return Tensor._made(as_array(result), name, (x,))
        return function(x, y) if isinstance(y, (BaseTensor, np.ndarray)) else NotImplemented

    return compare


_BINARY = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "pow": "pow",
    "matmul": "matmul",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}

for _operator, _name in _BINARY.items():
    setattr(Tensor, f"__{_operator}__", FUNCTIONS[_name])
    if f"{_name}_" in FUNCTIONS:
        setattr(Tensor, f"__i{_operator}__", FUNCTIONS[f"{_name}_"])
    if "shift" not in _operator:
        setattr(Tensor, f"__r{_operator}__", reflected(_name))

for _operator in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Tensor, f"__{_operator}__", _compared(_operator))

for _operator, _name in {"neg": "neg", "abs": "abs", "invert": "bitwise_not"}.items():
    setattr(Tensor, f"__{_operator}__", FUNCTIONS[_name])
Tensor.__pos__ = lambda x: x
Tensor.__hash__ = lambda x: id(x)  # type: ignore[method-assign,assignment]  # __eq__ came later
