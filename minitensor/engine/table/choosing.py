"""Choosing between elements, and copying them."""

from minitensor.engine.kernels import elementwise as kernels
from minitensor.engine.table.rows import each, op

op("where", kernels.where, "condition x y", "x where condition is true, else y; in place, x is overwritten.",
   target="x", promote=("x", "y"), signature="condition, x=None, y=None, name=None",
   prologue="condition = as_mask('where{_}', condition, 'condition')",
   writes="where_true(x, ~condition)", x="where(condition, g, 0)", y="where(condition, 0, g)")  # fmt: skip
each("clone", kernels.copy, "x", "A copy on a new storage; x gets the gradient of the copy.", in_place=False, x="g")
