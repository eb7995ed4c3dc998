"""Reductions along axes."""

from typing import Any

from minitensor.engine.kernels import reducing as kernels
from minitensor.engine.table.rows import op

_AXES: dict[str, Any] = {
    "arguments": ("axis=None", "keepdim=False"),
    "prepare": kernels.reduce_arguments,
    "in_place": False,
    "gives": "the shape of x without the reduced dimensions (with keepdim, they have length 1)",
}

op("sum", kernels.sum_, "x", "Sum along axis (by default, of all elements).", **_AXES,
   x="spread(g, shape, axis, keepdim)")  # fmt: skip
op("mean", kernels.mean, "x", "Mean along axis (by default, of all elements); truncated for integers.", **_AXES,
   x="spread(g / along(shape, axis), shape, axis, keepdim)")  # fmt: skip
op("max", kernels.max_, "x", "Largest element along axis (by default, of all elements); if several elements are the "
   "largest, they share the gradient.", **_AXES, x="to_extremes(g, x, out, axis, keepdim)")  # fmt: skip
op("min", kernels.min_, "x", "Smallest element along axis (by default, of all elements); if several elements are the "
   "smallest, they share the gradient.", **_AXES, x="to_extremes(g, x, out, axis, keepdim)")  # fmt: skip
op("prod", kernels.prod, "x", "Product along axis (by default, of all elements).", **_AXES,
   x="spread(g, shape, axis, keepdim) * product_of_others(x, axis)")  # fmt: skip
