"""Samples for rows of the derivative table: inputs, and references in plain numpy.

The references are written from textbook definitions and not from the table. No input is near a kink or a tie, because
central differences are meaningless there; separate tests cover these points. ``samples_functions`` and
``samples_indexed`` have more samples. The lists at the end contain all samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

import minitensor as mt
from minitensor.engine.operations import FUNCTIONS
from minitensor.engine.table import ROWS, Row

ANY = np.array([[-1.4, -0.6, 0.25], [0.7, 1.3, 2.4]])
OTHER = np.array([[0.8, -1.1, 1.7], [-0.4, 2.2, 0.9]])
POSITIVE = np.array([[0.2, 0.5, 1.1], [1.6, 2.3, 3.9]])
CONDITION = np.array([[True, False, True], [False, False, True]])


@dataclass(frozen=True)
class Sample:
    """A call of an operation: ``name(*arrays, **arguments)`` should give ``reference(*arrays)``.

    The arrays are the operands of the row, in order. The in-place operation overwrites the array at ``target``.
    """

    name: str
    arrays: tuple[np.ndarray, ...]
    reference: Callable[..., np.ndarray]
    arguments: dict[str, object]

    @property
    def row(self) -> Row:
        return ROWS[self.name]

    @property
    def target(self) -> int:
        return self.row.operands.index(self.row.target)

    def tensors(self, *wanting: int) -> list[mt.Tensor]:
        """Return the operands as tensors. Those at the positions ``wanting`` require a gradient."""
        return [mt.to_tensor(array, stop_gradient=i not in wanting) for i, array in enumerate(self.arrays)]

    def run(self, tensors: Sequence[mt.Tensor]) -> mt.Tensor:
        """Return the result of the normal operation."""
        return FUNCTIONS[self.name](*tensors, **self.arguments)

    def run_in_place(self, tensors: Sequence[mt.Tensor]) -> mt.Tensor:
        """Run the operation in place and return the operand at ``target``."""
        return FUNCTIONS[self.name + "_"](*tensors, **self.arguments)

    def wanting(self, in_place: bool = False) -> list[int]:
        """Return the positions of the operands that have a gradient. The gradient may be 0."""
        rules = self.row.rules_in_place if in_place else self.row.rules
        places = enumerate(zip(self.row.operands, self.arrays, strict=True))
        return [i for i, (x, a) in places if x in rules and not rules[x].startswith("no_slope") and a.dtype.kind == "f"]

    def moved(self, places: Sequence[int]) -> Callable[..., np.ndarray]:
        """Return the reference as a function of only the arrays at ``places``."""

        def reference(*arrays: np.ndarray) -> np.ndarray:
            given = dict(zip(places, arrays, strict=True))
            return self.reference(*(given.get(i, array) for i, array in enumerate(self.arrays)))

        return reference

    def __str__(self) -> str:
        shapes = "x".join(str(list(a.shape)).replace(" ", "") for a in self.arrays)
        arguments = ",".join(f"{k}={v}" for k, v in self.arguments.items())
        return f"{self.name}-{shapes}{'-' if arguments else ''}{arguments}"


#: The samples of the files that have been imported so far. Use SAMPLES, which first imports all files with samples.
_added: list[Sample] = []


def sample(name: str, reference: Callable[..., np.ndarray], *arrays: object, **arguments: object) -> None:
    _added.append(Sample(name, tuple(np.array(a) for a in arrays), reference, arguments))


def each(function: Callable[[float], float]) -> Callable[[np.ndarray], np.ndarray]:
    """Return a reference that applies a function of one number to every element."""
    return lambda x: np.array([function(float(v)) for v in x.ravel()]).reshape(x.shape)


# ---------- one operand ----------

UNARY: dict[str, tuple[Callable[[float], float], np.ndarray]] = {
    "neg": (lambda v: -v, ANY),
    "sign": (lambda v: math.copysign(1, v), ANY),
    "abs": (math.fabs, ANY),
    "square": (lambda v: v * v, ANY),
    "sqrt": (math.sqrt, POSITIVE),
    "rsqrt": (lambda v: 1 / math.sqrt(v), POSITIVE),
    "reciprocal": (lambda v: 1 / v, ANY),
    "round": (lambda v: math.copysign(math.floor(abs(v) + 0.5), v), ANY),
    "exp": (math.exp, ANY),
    "log": (math.log, POSITIVE),
    "sin": (math.sin, ANY),
    "cos": (math.cos, ANY),
    "tanh": (math.tanh, ANY),
    "sigmoid": (lambda v: 1 / (1 + math.exp(-v)), ANY),
    "relu": (lambda v: v if v > 0 else 0.0, ANY),
    "clone": (lambda v: v, ANY),
    "zero": (lambda v: 0.0, ANY),
}
for _name, (_function, _array) in UNARY.items():
    for _shaped in (_array, _array.T, _array[1, 2], _array[:, :0], _array[::-1, ::2]):
        sample(_name, each(_function), _shaped)

sample("scale", lambda x: 2.5 * x, ANY, scale=2.5)
sample("scale", lambda x: 2.5 * x + 3, ANY, scale=2.5, bias=3.0)
sample("scale", lambda x: 2.5 * (x + 3), ANY, scale=2.5, bias=3.0, bias_after_scale=False)
sample("scale", lambda x: x, ANY)
sample("scale", lambda x: 0 * x - 1, ANY, scale=0.0, bias=-1.0)
sample("clip", lambda x: np.minimum(np.maximum(x, -0.5), 1.0), ANY, min=-0.5, max=1.0)
sample("clip", lambda x: np.maximum(x, 0.3), ANY, min=0.3)
sample("clip", lambda x: np.minimum(x, 0.3), ANY, max=0.3)
sample("clip", lambda x: x, ANY)
# If min is greater than max, every element of the result is max, as in numpy.
sample("clip", lambda x: 0 * x + 1, ANY, min=2.0, max=1.0)
sample("fill", lambda x: np.full(x.shape, 7.5), ANY, value=7.5)
sample("fill", lambda x: np.full(x.shape, -1.0), ANY[0, 0], value=-1)

# ---------- two operands, of equal shape and broadcast ----------


def pairs(x: np.ndarray, y: np.ndarray) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    """Return pairs of operands cut out of two 2x3 matrices, with many combinations of shapes and memory orders."""
    return (
        (x, y),
        (x, y[0]),
        (x[0], y),
        (x[:, :1], y[:1]),
        (x, y[0, 1]),
        (x[1, 1], y),
        (x[1, 1], y[1, 1]),
        (x, y.T.copy().T),
        (x[:, :0], y[:, :1]),
        (x[None], y[:, None, :]),
    )


BINARY: dict[str, tuple[Callable[[np.ndarray, np.ndarray], np.ndarray], np.ndarray, np.ndarray]] = {
    "add": (lambda x, y: x + y, ANY, OTHER),
    "subtract": (lambda x, y: x - y, ANY, OTHER),
    "multiply": (lambda x, y: x * y, ANY, OTHER),
    "divide": (lambda x, y: x / y, ANY, OTHER),
    "pow": (lambda x, y: np.exp(y * np.log(x)), POSITIVE, OTHER),
    "maximum": (lambda x, y: np.where(x > y, x, y), ANY, OTHER),
    "minimum": (lambda x, y: np.where(x > y, y, x), ANY, OTHER),
    "equal": (lambda x, y: x == y, ANY, OTHER),
    "not_equal": (lambda x, y: x != y, ANY, OTHER),
    "less_than": (lambda x, y: x < y, ANY, OTHER),
    "less_equal": (lambda x, y: x <= y, ANY, OTHER),
    "greater_than": (lambda x, y: x > y, ANY, OTHER),
    "greater_equal": (lambda x, y: x >= y, ANY, OTHER),
}
for _name, (_both, _x, _y) in BINARY.items():
    for _left, _right in pairs(_x, _y):
        sample(_name, _both, _left, _right)
for _power in (2.0, 1.0, 3.0, 0.0, -1.0, -0.5):
    sample("pow", lambda x, y: np.exp(y * np.log(x)), POSITIVE, _power)

# ---------- choosing ----------

sample("where", lambda c, x, y: x * c + y * (1 - c), CONDITION, ANY, OTHER)
sample("where", lambda c, x, y: x * c + y * (1 - c), CONDITION[0], ANY[:, :1], OTHER)
sample("where", lambda c, x, y: x * c + y * (1 - c), np.array(False), ANY[0], OTHER)

# ---------- reductions ----------

CUBE = np.array([1.4, -0.3, 0.8, 2.1, -1.2, 0.5, 0.9, 1.9, -0.7, 1.1, 0.6, -2.2, 1.3, 0.4, 1.7, -0.9, 2.3, 0.2])
CUBE = CUBE.reshape(2, 3, 3)
REDUCED: dict[str, Callable[..., np.ndarray]] = {
    "sum": np.sum,
    "mean": np.mean,
    "max": np.amax,
    "min": np.amin,
    "prod": np.prod,
}
for _name, _reduced in REDUCED.items():
    for _axis in (None, 0, -1, [0, 2], [], [1]):
        _numpy_axis = None if _axis is None or _axis == [] else tuple(_axis) if isinstance(_axis, list) else _axis
        for _keep in (False, True):
            sample(
                _name,
                lambda x, f=_reduced, a=_numpy_axis, k=_keep: f(x, axis=a, keepdims=k),
                CUBE,
                axis=_axis,
                keepdim=_keep,
            )
    sample(_name, lambda x, f=_reduced: f(x), np.array(1.5))
    sample(_name, lambda x, f=_reduced: f(x, axis=0), CUBE.T, axis=0)
sample("sum", lambda x: x.sum(axis=0), np.zeros((0, 3)), axis=0)
sample("sum", lambda x: x.sum(axis=1), np.zeros((0, 3)), axis=1)
sample("prod", lambda x: x.prod(axis=0), np.zeros((0, 3)), axis=0)
sample("prod", lambda x: x.prod(axis=1), np.zeros((0, 3)), axis=1)
sample("prod", lambda x: x.prod(axis=1), np.array([[2.0, 0.0, 3.0], [0.0, 0.0, 4.0]]), axis=1)

# ---------- matrices ----------


def product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the matrix product as sums of products, for vectors, matrices and stacks of matrices."""
    rows = x[None, :] if x.ndim == 1 else x
    columns = y[:, None] if y.ndim == 1 else y
    result = (rows[..., :, :, None] * columns[..., None, :, :]).sum(axis=-2)
    if x.ndim == 1:
        result = result[..., 0, :]
    return result[..., 0] if y.ndim == 1 else result


STACK = np.arange(24).reshape(2, 3, 4) * 0.1 - 1.1
for _left, _right in (
    (STACK[0], STACK[1].T),
    (STACK[0, 0], STACK[0, 1]),
    (STACK[0], STACK[0, 1]),
    (STACK[0, 0], STACK[0].T),
    (STACK, STACK[1].T),
    (STACK[0], STACK.transpose(0, 2, 1)),
    (STACK, STACK[0, 1]),
    (STACK[0, 0], STACK.transpose(0, 2, 1)),
    (STACK[:, None], STACK.transpose(0, 2, 1)[None]),
    (STACK[0, :, :0], STACK[1, :0, :]),
):
    sample("matmul", product, _left, _right)
for _tx, _ty in ((True, False), (False, True), (True, True)):
    sample(
        "matmul",
        lambda x, y, a=_tx, b=_ty: product(np.swapaxes(x, -1, -2) if a else x, np.swapaxes(y, -1, -2) if b else y),
        STACK.swapaxes(-1, -2) if _tx else STACK,
        STACK[1] if _ty else STACK[1].T,
        transpose_x=_tx,
        transpose_y=_ty,
    )

# ---------- lists of all samples ----------


def fits(given: Sample) -> bool:
    """True if the result has the shape of the overwritten operand, as an in-place operation requires."""
    return np.shape(given.reference(*given.arrays)) == given.arrays[given.target].shape


def _lists() -> dict[str, list[Sample]]:
    normal = [s for s in _added if s.row.normal]
    in_place = [s for s in _added if s.row.in_place and fits(s)]
    equal = [s for s in in_place if {a.shape for a in s.arrays} == {(2, 3)}]
    return {
        "SAMPLES": _added,
        "NORMAL": normal,
        "DIFFERENTIABLE": [s for s in normal if s.wanting()],
        "IN_PLACE": in_place,
        #: One sample of every in-place operation, with operands of equal shapes.
        "IN_PLACE_ONCE": list({s.name: s for s in reversed(equal)}.values()),
    }


def __getattr__(name: str) -> list[Sample]:
    # Created on first use, because the other files with samples import this one.
    if name not in ("SAMPLES", "NORMAL", "DIFFERENTIABLE", "IN_PLACE", "IN_PLACE_ONCE"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tests.support.engine import samples_functions, samples_indexed

    assert samples_functions and samples_indexed  # imported because they register samples
    globals().update(_lists())
    return globals()[name]
