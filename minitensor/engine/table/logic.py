"""Logic on truth values, and on the bits of integers.

A number is true unless it is 0. In place, truth values are stored in the dtype of x, and the gradient of x is 0.
Bitwise operations work on integers and bools, and shifts on integers. None of them has a gradient.
"""

import numpy as np

from minitensor.engine.kernels import logic as kernels
from minitensor.engine.table.rows import op

for _name, _doc in {
    "logical_and": "True where both are true",
    "logical_or": "True where one or both are true",
    "logical_xor": "True where just one is true",
}.items():
    op(_name, getattr(np, _name), "x y", f"{_doc}; a bool tensor.", not_differentiable=True)
op("logical_not", np.logical_not, "x", "True where x is false; a bool tensor.", not_differentiable=True)

for _name, _doc in {
    "bitwise_and": "The bits that are set in both operands.",
    "bitwise_or": "The bits that are set in one or both operands.",
    "bitwise_xor": "The bits that are set in exactly one operand.",
}.items():
    op(_name, getattr(np, _name), "x y", _doc, accepts="integers or bools")
op(
    "bitwise_not",
    np.bitwise_not,
    "x",
    "x with every bit inverted.",
    accepts="integers or bools",
    aliases=("bitwise_invert",),
)

_SHIFT = {
    "arguments": ("is_arithmetic=True",),
    "prepare": kernels.flag_argument,
    "refuses": ("ValueError: for y below 0.",),
    "accepts": "integers",
    "signature": "x, y, is_arithmetic=True, out=None, name=None",
}
op("bitwise_left_shift", kernels.left_shift, "x y", "The bits of x, y places to the left.", **_SHIFT,
   prologue="if out is not None: return as_out('bitwise_left_shift{_}', out).copy_("
   "redirect('bitwise_left_shift{_}', x, y, is_arithmetic))")  # fmt: skip
op("bitwise_right_shift", kernels.right_shift, "x y",
   "The bits of x, y places to the right; copies of the sign bit enter from the left, or with is_arithmetic=False, "
   "zeros.", **_SHIFT,
   prologue="if out is not None: return as_out('bitwise_right_shift{_}', out).copy_("
   "redirect('bitwise_right_shift{_}', x, y, is_arithmetic))")  # fmt: skip
