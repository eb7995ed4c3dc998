"""The derivative table: every differentiable operation, once.

A row says how an operation is computed and, per input, how the gradient ``g`` of the result becomes the gradient of
that input. *The names in a rule are what backward needs*: an input, the result ``out``, the input's ``shape``, or a
plain argument. From these names follow what is saved, what has to be copied first when the operation works in place,
and whether a later write makes the saved value stale. Nothing about safety is written anywhere else.

    sin        x: g * cos(x)                needs its input: in place, that input is copied first
    exp        x: g * out                   needs its result: free in place
    add        x: g    y: g                 needs nothing
    multiply   x: g * y    y: g * x         x is needed only when y wants a gradient

Broadcasting is not the rules' business: a gradient is summed to the shape of its input after the rule.
Rules are numpy expressions; the helpers they call are in :mod:`minitensor.kernels`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from minitensor import kernels


@dataclass(frozen=True)
class Row:
    """One operation.

    Attributes:
        name: the normal operation; in place it has an underscore more.
        forward: ``forward(*arrays, *arguments, out=None)``.
        operands: the names of its tensor inputs; the first is what an in-place operation overwrites.
        arguments: source text of its other parameters.
        rules: per operand the gradient, as an expression; an operand without a rule wants none.
        doc: one sentence for the docstring.
        normal, in_place: which of the two exist.
        floats: the result is floating: integers are taken as float32.
        meet: the operands that are brought to one dtype first.
        prepare: checks the arguments and makes them constant, before anything is computed or saved.
    """

    name: str
    forward: Callable[..., np.ndarray]
    operands: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    rules: dict[str, str] = field(default_factory=dict)
    doc: str = ""
    normal: bool = True
    in_place: bool = True
    floats: bool = False
    meet: tuple[str, ...] = ()
    prepare: Callable[..., tuple[Any, ...]] | None = None

    @property
    def argument_names(self) -> tuple[str, ...]:
        """The parameters that are not tensors."""
        return tuple(argument.partition("=")[0] for argument in self.arguments)

    def needs(self, operand: str) -> frozenset[str]:
        """The names in the rule of ``operand`` (helpers included)."""
        return names_in(self.rules[operand])

    @property
    def saved_names(self) -> tuple[str, ...]:
        """The tensors that some rule needs, in the order in which a node saves them: operands, then ``out``."""
        needed = frozenset().union(*(self.needs(operand) for operand in self.rules))
        return tuple(name for name in (*self.operands, "out") if name in needed)

    @property
    def saved_arguments(self) -> tuple[str, ...]:
        """The plain arguments that some rule needs."""
        needed = frozenset().union(*(self.needs(operand) for operand in self.rules))
        return tuple(name for name in self.argument_names if name in needed)

    @property
    def copies_in_place(self) -> bool:
        """Whether some gradient needs the input that the in-place operation overwrites."""
        return self.operands[0] in self.saved_names


@functools.cache
def names_in(expression: str) -> frozenset[str]:
    """Every name that a rule mentions."""
    return frozenset(compile(expression, "<rule>", "eval").co_names)


ROWS: dict[str, Row] = {}


def op(name: str, forward: Callable[..., Any], operands: str, doc: str, **settings: Any) -> None:
    """Write one row. Settings named like an operand are its rule; the others are fields of :class:`Row`."""
    inputs = tuple(operands.split())
    rules = {operand: settings.pop(operand) for operand in inputs if operand in settings}
    settings.setdefault("meet", inputs if len(inputs) > 1 else ())
    ROWS[name] = Row(name, forward, inputs, rules=rules, doc=doc, **settings)


# ---------- arithmetic ----------

op("add", np.add, "x y", "Elementwise sum.", x="g", y="g")
op("subtract", np.subtract, "x y", "Elementwise difference.", x="g", y="-g")
op("multiply", np.multiply, "x y", "Elementwise product.", x="g * y", y="g * x")
op("divide", np.divide, "x y", "Elementwise quotient.", floats=True, x="g / y", y="-g * out / y")
op("pow", kernels.power, "x y", "Elementwise power.", x="g * power_slope(x, y)", y="g * power_log(x, out)")
op("maximum", np.maximum, "x y", "The larger of two elements; at a tie the gradient goes to y.",
   x="where(x > y, g, zero(g))", y="where(x > y, zero(g), g)")  # fmt: skip
op("minimum", np.minimum, "x y", "The smaller of two elements; at a tie the gradient goes to y.",
   x="where(x < y, g, zero(g))", y="where(x < y, zero(g), g)")  # fmt: skip
op("scale", kernels.scale, "x", "scale * x + bias, or scale * (x + bias) with bias_after_scale=False.",
   arguments=("scale=1.0", "bias=0.0", "bias_after_scale=True"), prepare=kernels.scale_arguments,
   x="g * scale")  # fmt: skip
op("neg", kernels.negative, "x", "Elementwise negative.", x="-g")
op("abs", np.absolute, "x", "Elementwise absolute value; its slope at 0 is taken as 0.", x="g * sign(x)")
op("square", kernels.square, "x", "Elementwise square.", x="g * 2 * x")
op("sqrt", np.sqrt, "x", "Elementwise square root.", floats=True, x="g * 0.5 / out")
op("rsqrt", kernels.rsqrt, "x", "One over the square root.", floats=True, x="g * -0.5 * out * out * out")
op("reciprocal", kernels.reciprocal, "x", "One over x.", floats=True, x="-g * out * out")
op("round", kernels.round_half_away, "x", "Nearest whole number, halves away from zero.", x="zeros_like(g)")

# ---------- functions ----------

op("exp", np.exp, "x", "e to the power of x.", floats=True, x="g * out")
op("log", np.log, "x", "Natural logarithm.", floats=True, x="g / x")
op("sin", np.sin, "x", "Sine.", floats=True, x="g * cos(x)")
op("cos", np.cos, "x", "Cosine.", floats=True, x="-g * sin(x)")
op("tanh", np.tanh, "x", "Hyperbolic tangent.", floats=True, x="g * (1 - out * out)")
op("sigmoid", kernels.sigmoid, "x", "1 / (1 + exp(-x)).", floats=True, x="g * out * (1 - out)")
op("relu", kernels.relu, "x", "x where it is positive, else 0; its slope at 0 is taken as 0.",
   x="where(out > 0, g, zero(g))")  # fmt: skip
op("clip", kernels.clip, "x", "x, but not below min nor above max; None sets no bound.",
   arguments=("min=None", "max=None"), prepare=kernels.clip_arguments,
   x="where(inside(x, min, max), g, zero(g))")  # fmt: skip

# ---------- overwriting with constants ----------

op("fill", kernels.fill, "x", "Every element becomes value.", arguments=("value",), normal=False,
   prepare=kernels.fill_arguments, x="zeros_like(g)")  # fmt: skip
op("zero", kernels.fill_zero, "x", "Every element becomes 0.", normal=False, x="zeros_like(g)")

# ---------- choosing, copying ----------

op("where", kernels.where, "condition x y", "x where condition is true, else y.", in_place=False, meet=("x", "y"),
   x="where(condition, g, zero(g))", y="where(condition, zero(g), g)")  # fmt: skip
op("clone", kernels.copy, "x", "A copy on a storage of its own, which gradients pass through.", in_place=False, x="g")

# ---------- reductions ----------

_AXES: dict[str, Any] = {
    "arguments": ("axis=None", "keepdim=False"),
    "prepare": kernels.reduce_arguments,
    "in_place": False,
}

op("sum", kernels.sum_, "x", "Sum along axis (all by default).", **_AXES,
   x="spread(g, shape, axis, keepdim)")  # fmt: skip
op("mean", kernels.mean, "x", "Mean along axis (all by default).", **_AXES, floats=True,
   x="spread(g, shape, axis, keepdim) / along(shape, axis)")  # fmt: skip
op("max", kernels.max_, "x", "Largest element along axis (all by default); ties share the gradient.",
   **_AXES, x="to_extremes(g, x, out, axis, keepdim)")  # fmt: skip
op("min", kernels.min_, "x", "Smallest element along axis (all by default); ties share the gradient.",
   **_AXES, x="to_extremes(g, x, out, axis, keepdim)")  # fmt: skip
op("prod", kernels.prod, "x", "Product along axis (all by default).", **_AXES,
   x="spread(g, shape, axis, keepdim) * product_of_others(x, axis)")  # fmt: skip

# ---------- linear algebra ----------

op("matmul", kernels.matmul, "x y", "Matrix product over the last two dimensions, each operand transposed on request.",
   arguments=("transpose_x=False", "transpose_y=False"), prepare=kernels.matmul_arguments, in_place=False,
   x="matmul_left(g, y, shape, transpose_x, transpose_y)",
   y="matmul_right(g, x, shape, transpose_x, transpose_y)")  # fmt: skip

# ---------- comparisons: no gradient ----------

for _name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
    _paddle = {"less": "less_than", "greater": "greater_than"}.get(_name, _name)
    op(_paddle, getattr(np, _name), "x y", f"Elementwise {_name.replace('_', ' ')}; a bool tensor.", in_place=False)
