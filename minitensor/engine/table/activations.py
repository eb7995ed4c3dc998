"""Activation functions."""

from minitensor.engine.kernels import activations as kernels
from minitensor.engine.kernels import elementwise
from minitensor.engine.table.rows import each, op

each("relu", elementwise.relu, "x", "x where it is positive, else 0; its slope at 0 is taken as 0.",
   x="where(out > 0, g, 0)", namespaces="TmF")  # fmt: skip
each("relu6", kernels.relu6, "x", "x, but not below 0 nor above 6; its slope at 0 and 6 is taken as 0.", floats=True,
   marks={"passed": "inside(x, 0, 6)"}, x="where(passed, g, 0)", namespaces="F")  # fmt: skip
each("leaky_relu", kernels.leaky_relu, "x", "x where it is positive, else negative_slope * x, for a slope that is "
   "not negative (Maas, Hannun and Ng 2013).",
   arguments=("negative_slope=0.01",), prepare=kernels.leaky_relu_arguments,
   refuses=("ValueError: for negative_slope below 0.",), floats=True,
   x="where(out > 0, g, g * negative_slope if negative_slope else 0)", namespaces="F")  # fmt: skip
each("elu", kernels.elu, "x", "x where it is positive, else alpha * (exp(x) - 1), for alpha not below 0 "
   "(Clevert, Unterthiner and Hochreiter 2015).",
   arguments=("alpha=1.0",), prepare=kernels.elu_arguments, refuses=("ValueError: for alpha below 0.",), floats=True,
   x="where(out > 0, g, g * (out + alpha) if alpha else 0)", namespaces="F")  # fmt: skip
each("hardtanh", kernels.hardtanh, "x", "x, but not below min nor above max; the slope at min and max is taken as 0.",
   arguments=("min=-1.0", "max=1.0"), prepare=kernels.hardtanh_arguments,
   refuses=("ValueError: for min above max.",), floats=True,
   marks={"passed": "inside(x, min, max)"}, x="where(passed, g, 0)", namespaces="F")  # fmt: skip
each("thresholded_relu", kernels.thresholded_relu, "x", "x where it is above threshold, else value.",
   arguments=("threshold=1.0", "value=0.0"), prepare=kernels.thresholded_relu_arguments,
   refuses=("TypeError: for threshold or value that is not a number.",), floats=True,
   marks={"above": "x > threshold"}, x="where(above, g, 0)", namespaces="F")  # fmt: skip
each("log_sigmoid", kernels.log_sigmoid, "x", "The logarithm of 1 / (1 + exp(-x)).", floats=True, in_place=False,
   x="g * sigmoid(-x)", namespaces="F")  # fmt: skip
op("softmax", kernels.softmax, "x", "exp(x) divided by its sum along axis; dtype, if given, is the result's dtype.",
   arguments=("axis=-1",), prepare=kernels.softmax_arguments, signature="x, axis=-1, dtype=None, name=None",
   prologue="if dtype is not None: x = in_dtype('softmax{_}', x, dtype)", floats=True,
   x="softmax_gradient(g, out, axis)", namespaces="F")  # fmt: skip
