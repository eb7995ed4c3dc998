"""Functions of one number: exponential, trigonometric, hyperbolic and those that networks use."""

import numpy as np

from minitensor.kernels import elementwise as kernels
from minitensor.table.rows import op

op("exp", np.exp, "x", "e to the power of x.", floats=True, x="g * out")
op("log", np.log, "x", "Natural logarithm.", floats=True, x="g / x")
op("sin", np.sin, "x", "Sine.", floats=True, x="g * cos(x)")
op("cos", np.cos, "x", "Cosine.", floats=True, x="-g * sin(x)")
op("tanh", np.tanh, "x", "Hyperbolic tangent.", floats=True, x="g * (1 - out * out)", spaces="TmF")
op("sigmoid", kernels.sigmoid, "x", "1 / (1 + exp(-x)).", floats=True, x="g * out * (1 - out)", spaces="TmF")
op("relu", kernels.relu, "x", "x where it is positive, else 0; its slope at 0 is taken as 0.",
   x="where(out > 0, g, 0)", spaces="TmF")  # fmt: skip
