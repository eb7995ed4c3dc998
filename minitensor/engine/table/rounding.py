"""Rounding, and division with a remainder. Functions that are constant between steps have gradient 0."""

from minitensor.engine.kernels import rounding as kernels
from minitensor.engine.table.rows import each, op

each("ceil", kernels.ceil, "x", "The smallest integer not below x.", x="zeros_like(g)")
each("floor", kernels.floor, "x", "The largest integer not above x.", x="zeros_like(g)")
each("trunc", kernels.trunc, "input", "input without its fraction: it is rounded towards zero.", input="zeros_like(g)")
each("frac", kernels.frac, "x", "The fraction of x, with the sign of x.", x="g")
op("round", kernels.round_, "x",
   "x rounded to as many decimal places as decimals says (-2 means hundreds); halves are rounded away from zero.",
   arguments=("decimals=0",), prepare=kernels.round_arguments,
   refuses=("TypeError: for decimals that is not an integer.",), x="zeros_like(g)")  # fmt: skip
each("floor_divide", kernels.floor_divide, "x y", "x / y, rounded down.", x="zeros_like(g)", y="zeros_like(g)")
op("trunc_divide", kernels.trunc_divide, "x y",
   "x / y, rounded towards zero; divide calls it if rounding_mode is 'trunc'.",
   x="zeros_like(g)", y="zeros_like(g)", namespaces="")  # fmt: skip
each("remainder", kernels.remainder, "x y", "x - y * floor_divide(x, y), which has the sign of y.",
   aliases=("mod", "floor_mod"), x="g", y="-g * floor_divide(x, y)")  # fmt: skip
each("fmod", kernels.fmod, "x y", "x - y * trunc_divide(x, y), which has the sign of x.",
   x="g", y="-g * trunc_divide(x, y)", namespaces="")  # fmt: skip
