"""Reductions along axes."""

from typing import Any

from minitensor.engine.kernels import reducing as kernels
from minitensor.engine.table.rows import op

_AXES: dict[str, Any] = {
    "arguments": ("axis=None", "keepdim=False"),
    "prepare": kernels.reduce_arguments,
    "in_place": False,
    "gives": "the shape of x without the dimensions axis, which stay as 1 with keepdim",
}

op("sum", kernels.sum_, "x", "Sum along axis (all by default).", **_AXES,
   x="spread(g, shape, axis, keepdim)")  # fmt: skip
op("mean", kernels.mean, "x", "Mean along axis (all by default); truncated for integers.", **_AXES,
   x="spread(g / along(shape, axis), shape, axis, keepdim)")  # fmt: skip
op("max", kernels.max_, "x", "Largest element along axis (all by default); ties share the gradient.",
   **_AXES, x="to_extremes(g, x, out, axis, keepdim)")  # fmt: skip
op("min", kernels.min_, "x", "Smallest element along axis (all by default); ties share the gradient.",
   **_AXES, x="to_extremes(g, x, out, axis, keepdim)")  # fmt: skip
op("prod", kernels.prod, "x", "Product along axis (all by default).", **_AXES,
   x="spread(g, shape, axis, keepdim) * product_of_others(x, axis)")  # fmt: skip
