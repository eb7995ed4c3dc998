"""Sums, products, powers and similar operations.

``each`` declares an operation and its in-place form; ``x=`` and ``y=`` are the gradient rules of these operands.
"""

import numpy as np

from minitensor.engine.kernels import elementwise as kernels
from minitensor.engine.table.rows import each, op

_ALPHA = "x, y, name=None, *, alpha=1"
_SCALED = (
    "if alpha is not ONE and not (type(alpha) in (int, float) and alpha == 1): "
    "y = scaled('{}{{_}}', redirect, y, alpha)"
)

each("add", np.add, "x y", "Elementwise sum of x and alpha * y.", x="g", y="g",
   signature=_ALPHA, prologue=_SCALED.format("add"))  # fmt: skip
each("subtract", np.subtract, "x y", "Elementwise difference of x and alpha * y.", x="g", y="-g", aliases=("sub",),
   signature=_ALPHA, prologue=_SCALED.format("subtract"))  # fmt: skip
each("multiply", np.multiply, "x y", "Elementwise product.", x="g * y", y="g * x", aliases=("mul",))
each("divide", np.divide, "x y",
   "Elementwise quotient. rounding_mode='floor' rounds it down, and rounding_mode='trunc' towards zero.",
   floats=True, x="g / y", y="-g * out / y", aliases=("div",), signature="x, y, name=None, *, rounding_mode=None",
   prologue="if rounding_mode is not None: return redirect(rounded('divide{_}', rounding_mode), x, y)")  # fmt: skip
each("pow", kernels.power, "x y", "Elementwise power.", x="power_slope(g, x, y)", y="power_log(g, x, out)")
each("maximum", np.maximum, "x y", "The larger of two elements; at a tie y gets the gradient.",
   x="where(x > y, g, 0)", y="where(y >= x, g, 0)")  # fmt: skip
each("minimum", np.minimum, "x y", "The smaller of two elements; at a tie y gets the gradient.",
   x="where(x < y, g, 0)", y="where(y <= x, g, 0)")  # fmt: skip
each("scale", kernels.scale, "x", "scale * x + bias, or scale * (x + bias) with bias_after_scale=False.",
   arguments=("scale=1.0", "bias=0.0", "bias_after_scale=True"), prepare=kernels.scale_arguments,
   refuses=("TypeError: for scale or bias that is not a number.",),
   signature="x, scale=1.0, bias=0.0, bias_after_scale=True, act=None, name=None",
   prologue="if act is not None: raise no_activation('scale{_}', act)\n"
            "if type(x) is Tensor and x._array.itemsize == 2: scale, bias = as_elements(x, scale, bias)",
   x="g * scale")  # fmt: skip
each("neg", kernels.negative, "x", "Elementwise negative.", x="-g")
each("abs", np.absolute, "x", "Elementwise absolute value; its slope at 0 is taken as 0.",
   marks={"above": "x > 0", "below": "x < 0"}, x="where(above, g, where(below, -g, 0))")  # fmt: skip
op("sign", kernels.sign, "x", "1 where x is above 0, 0 where it is 0, and -1 where it is below 0.",
   x="zeros_like(g)", in_place=False)  # fmt: skip
each("square", kernels.square, "x", "Elementwise square.", x="g * 2 * x")
each("sqrt", np.sqrt, "x", "Elementwise square root.", floats=True, x="g * 0.5 / out")
each("rsqrt", kernels.rsqrt, "x", "One over the square root.", floats=True, x="g * -0.5 * out * out * out")
each("reciprocal", kernels.reciprocal, "x", "One over x.", floats=True, x="-g * out * out")
each("clip", kernels.clip, "x", "x, but not below min nor above max; None sets no bound.", aliases=("clamp",),
   arguments=("min=None", "max=None"), prepare=kernels.clip_arguments,
   refuses=("TypeError: for min or max that is not a number.",),
   marks={"passed": "inside(x, min, max)"}, x="where(passed, g, 0)")  # fmt: skip
