"""Functions of one or two numbers: powers of e, logarithms, trigonometric and hyperbolic functions, and others."""

import numpy as np

from minitensor.engine.kernels import elementwise, functions
from minitensor.engine.table.rows import each, op

# ---------- powers of e, and logarithms ----------

each("exp", np.exp, "x", "e to the power of x.", floats=True, x="g * out")
each("expm1", np.expm1, "x", "exp(x) - 1, exact near 0.", floats=True, x="g * (out + 1)")
each("exp2", np.exp2, "x", "2 to the power of x.", floats=True,
   x="g * out * 0.6931471805599453", namespaces="")  # log(2)  # fmt: skip
each("log", np.log, "x", "Natural logarithm.", floats=True, x="g / x")
each("log2", np.log2, "x", "Logarithm to base 2.", floats=True, x="g / (x * 0.6931471805599453)")  # log(2)
each("log10", np.log10, "x", "Logarithm to base 10.", floats=True, x="g / (x * 2.302585092994046)")  # log(10)
each("log1p", np.log1p, "x", "log(1 + x), exact near 0.", floats=True, x="g / (1 + x)")
each("sigmoid", elementwise.sigmoid, "x", "1 / (1 + exp(-x)).", floats=True, x="g * out * (1 - out)", namespaces="TmF")
each("logit", functions.logit, "x", "log(x / (1 - x)), the inverse of sigmoid. With eps, x is first clipped to the "
   "range from eps to 1 - eps, and the gradient is 0 outside this range. Without eps, the result and the gradient are "
   "nan where x is below 0 or above 1.",
   arguments=("eps=None",), prepare=functions.logit_arguments,
   refuses=("ValueError: for eps that is not between 0 and 0.5.",),
   floats=True, x="logit_gradient(g, x, eps)")  # fmt: skip

# ---------- trigonometric functions ----------

each("sin", np.sin, "x", "Sine.", floats=True, x="g * cos(x)")
each("cos", np.cos, "x", "Cosine.", floats=True, x="-g * sin(x)")
each("tan", np.tan, "x", "Tangent.", floats=True, x="g * (1 + out * out)")
each("asin", np.arcsin, "x", "Inverse sine.", floats=True, x="g * rsqrt(1 - x * x)")
each("acos", np.arccos, "x", "Inverse cosine.", floats=True, x="-g * rsqrt(1 - x * x)")
each("atan", np.arctan, "x", "Inverse tangent.", floats=True, x="g / (1 + x * x)")
each("sinc", functions.sinc, "x", "sin(pi x) / (pi x), and 1 at 0.", floats=True, x="g * sinc_slope(x)")

# ---------- hyperbolic functions ----------

each("sinh", np.sinh, "x", "Hyperbolic sine.", floats=True, x="g * cosh(x)")
each("cosh", np.cosh, "x", "Hyperbolic cosine.", floats=True, x="g * sinh(x)")
each("tanh", np.tanh, "x", "Hyperbolic tangent.", floats=True, x="g * (1 - out * out)", namespaces="TmF")
each("asinh", np.arcsinh, "x", "Inverse hyperbolic sine.", floats=True, x="g / cosh(out)")
each("acosh", np.arccosh, "x", "Inverse hyperbolic cosine.", floats=True, x="g * rsqrt(x * x - 1)")
each("atanh", np.arctanh, "x", "Inverse hyperbolic tangent.", floats=True, x="g / (1 - x * x)")

# ---------- functions of two numbers ----------

each("atan2", np.arctan2, "x y", "The angle, from -pi to pi, of the point with the abscissa y and the ordinate x.",
   floats=True, in_place=False,
   x="g * (y / hypot(x, y) / hypot(x, y))", y="g * (-x / hypot(x, y) / hypot(x, y))")  # fmt: skip
each("fmax", np.fmax, "x y", "The larger of two elements, or the one that is not nan; at a tie x gets the gradient.",
   in_place=False, marks={"first": "logical_or(greater_equal(x, y), y != y)"},
   x="where(first, g, 0)", y="where(first, 0, g)")  # fmt: skip
each("fmin", np.fmin, "x y", "The smaller of two elements, or the one that is not nan; at a tie x gets the gradient.",
   in_place=False, marks={"first": "logical_or(less_equal(x, y), y != y)"},
   x="where(first, g, 0)", y="where(first, 0, g)")  # fmt: skip
each("heaviside", functions.heaviside, "x y", "0 where x is below 0, 1 where it is above, and y where it is 0.",
   in_place=False, marks={"zero": "x == 0"}, x="zeros_like(g)", y="where(zero, g, 0)")  # fmt: skip

each("hypot", np.hypot, "x y", "sqrt(x * x + y * y), without intermediate overflow; the slopes at (0, 0) are 0.",
   floats=True, x="where(out == 0, 0, g) * (x / where(out == 0, 1, out))",
   y="where(out == 0, 0, g) * (y / where(out == 0, 1, out))")  # fmt: skip
each("copysign", np.copysign, "x y", "The absolute value of x with the sign of y. The gradient of y is 0, and the "
   "slope at x = 0 is taken as 0.", floats=True,
   marks={"kept": "copysign(sign(x), y) * sign(x) > 0", "turned": "copysign(sign(x), y) * sign(x) < 0"},
   x="where(kept, g, where(turned, -g, 0))", y="zeros_like(g)")  # fmt: skip
each("ldexp", functions.ldexp, "x y", "x * 2 ** y.", floats=True,
   x="ldexp(g, y)", y="g * out * 0.6931471805599453")  # log(2)  # fmt: skip
each("xlogy", functions.xlogy, "x y", "x * log(y), and 0 where x is 0.", floats=True,
   marks={"zero": "logical_and(x == 0, y <= 0)"}, x="where(zero, 0, g) * log(where(zero, 1, y))", y="g * x / y",
   namespaces="")  # fmt: skip
each("lerp", functions.lerp, "x y weight",
   "x + weight * (y - x): x for weight 0, y for weight 1.", floats=True,
   x="g * (1 - weight)", y="g * weight", weight="g * (y - x)")  # fmt: skip

# ---------- nan and inf ----------

for _name, _doc in {
    "isfinite": "True where x is neither nan nor infinite",
    "signbit": "True where the sign of x is negative, also for -0.0",
    "isinf": "True where x is inf or -inf",
    "isnan": "True where x is nan",
}.items():
    op(_name, getattr(np, _name), "x", f"{_doc}; a bool tensor.", not_differentiable=True, in_place=False)
op("nan_to_num", functions.nan_to_num, "x", "x, in which the argument nan replaces every nan, posinf every inf, and "
   "neginf every -inf. None means the largest or the lowest number of the dtype. Replaced elements get gradient 0.",
   arguments=("nan=0.0", "posinf=None", "neginf=None"), prepare=functions.nan_to_num_arguments,
   refuses=("TypeError: for nan, posinf or neginf that is not a number.",),
   marks={"finite": "isfinite(x)"}, x="where(finite, g, 0)")  # fmt: skip
