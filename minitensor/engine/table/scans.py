"""Cumulative sums and products: of each element and all elements before it."""

from minitensor.engine.kernels import scans as kernels
from minitensor.engine.table.rows import op

_VECTOR = "the shape of x (or, if {} is None, [n] for the n elements of x)"

op("cumsum", kernels.cumsum, "x", "The sum of each element and those before it along axis. If axis is None, x is "
   "flattened first. dtype, if given, is the dtype of the result.",
   arguments=("axis=None",), prepare=kernels.cumsum_arguments, gives=_VECTOR.format("axis"),
   signature="x, axis=None, dtype=None, name=None",
   prologue="if dtype is not None: x = in_dtype('cumsum{_}', x, dtype)",
   x="shaped(cumsum_reversed(g, axis), shape)")  # fmt: skip
op("cumsum_reversed", kernels.cumsum_reversed, "x", "The sum of each element and those after it along axis.",
   arguments=("axis",), prepare=kernels.cumsum_arguments,
   x="shaped(cumsum(g, axis), shape)", in_place=False, namespaces="")  # fmt: skip
op("cumprod", kernels.cumprod, "x", "The product of each element and those before it along dim. If dim is None, x is "
   "flattened first. dtype, if given, is the dtype of the result.",
   arguments=("dim=None",), prepare=kernels.cumprod_arguments, gives=_VECTOR.format("dim"),
   signature="x, dim=None, dtype=None, name=None",
   prologue="if dtype is not None: x = in_dtype('cumprod{_}', x, dtype)",
   x="cumprod_gradient(g, x, dim)")  # fmt: skip
