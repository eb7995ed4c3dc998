"""Operations that overwrite all elements with a constant. The gradient of the old elements is 0."""

from minitensor.engine.kernels import elementwise as kernels
from minitensor.engine.table.rows import op

op("fill", kernels.fill, "x", "Every element becomes value.", arguments=("value",), normal=False,
   refuses=("TypeError: for value that is not a number.",),
   signature="x, value", prepare=kernels.fill_arguments, x="zeros_like(g)")  # fmt: skip
op("zero", kernels.fill_zero, "x", "Every element becomes 0.", normal=False, signature="x", x="zeros_like(g)")
