"""The meaning of each operation: its value, and the derivative of that value.

Every rule is the textbook definition in terms of the operation's inputs, and shares nothing with the engine. A rule
maps ``Dual`` arrays to a ``Dual`` array: values ``v`` of some shape, and tangents ``t`` with one more dimension, the
directions of all derivatives. A rule raises ``OutsideDomain`` near a point where the operation is not smooth, or is so
steep that rounding would blur the comparison.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

DIRECTIONS = 32  # the largest number of elements that the leaves of a program have together
MARGIN = 1e-3  # the smallest allowed distance from a kink
LARGEST_VALUE, LARGEST_TANGENT = 1e4, 1e7


class Dual(NamedTuple):
    """Values and their derivatives: ``t.shape == (*v.shape, DIRECTIONS)``."""

    v: np.ndarray
    t: np.ndarray


class OutsideDomain(Exception):
    """Raised if a program leaves the region in which its derivative is smooth and its numbers are moderate."""


def constant(v) -> Dual:
    v = np.asarray(v)
    return Dual(v, np.zeros((*v.shape, DIRECTIONS)))


def require(condition) -> None:
    if not np.all(condition):
        raise OutsideDomain


def moderate(x: Dual) -> Dual:
    """Return ``x`` as arrays, or raise ``OutsideDomain`` if a number is too large or NaN."""
    x = Dual(np.asarray(x.v), np.asarray(x.t))
    if x.v.size and x.v.dtype.kind in "fV":
        small = np.abs(x.v).max() <= LARGEST_VALUE and np.abs(x.t).max() <= LARGEST_TANGENT  # also false for nan
        if not small:
            raise OutsideDomain
    return x


@lru_cache(maxsize=1 << 12)
def _joined(*shapes: tuple[int, ...]) -> tuple[int, ...] | None:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        return None


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the broadcast shape, which is cached, or raise ValueError if the shapes do not fit."""
    shape = _joined(*shapes)
    if shape is None:
        raise ValueError(f"shapes {shapes} do not fit")
    return shape


def broadcast_to(v: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Broadcast ``v`` to a shape. If it has this shape already, ``v`` itself is returned."""
    return v if v.shape == shape else np.broadcast_to(v, shape)


def spread(t: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Broadcast tangents to the shape of their values."""
    if t.shape[:-1] == shape:
        return t
    missing = len(shape) + 1 - t.ndim
    return np.broadcast_to(t.reshape((1,) * missing + t.shape), (*shape, t.shape[-1]))


# ---- one input ------------------------------------------------------------------------------------------------------


def _smooth_or_zero(v: np.ndarray) -> np.ndarray:
    """True away from the kink at 0, and exactly at 0, where the derivative of relu and abs is 0 by convention."""
    return (v == 0) | (np.abs(v) > MARGIN)


def _above(bound: float) -> Callable:
    return lambda v: v > bound


def _sigmoid(v: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-v))


# Maps a name to functions that return the value, the slope, and True inside the domain (None if every number is).
UNARY = {
    "neg": (lambda v: -v, lambda v: -np.ones_like(v), None),
    "abs": (np.abs, np.sign, _smooth_or_zero),
    "square": (lambda v: v * v, lambda v: 2 * v, None),
    "round": (np.round, np.zeros_like, lambda v: np.abs(v - np.floor(v) - 0.5) > MARGIN),
    "sqrt": (np.sqrt, lambda v: 0.5 / np.sqrt(v), _above(0.05)),
    "rsqrt": (lambda v: 1 / np.sqrt(v), lambda v: -0.5 * v**-1.5, _above(0.05)),
    "reciprocal": (lambda v: 1 / v, lambda v: -1 / (v * v), lambda v: np.abs(v) > 0.1),
    "exp": (np.exp, np.exp, lambda v: v < 4),
    "log": (np.log, lambda v: 1 / v, _above(0.05)),
    "sin": (np.sin, np.cos, None),
    "cos": (np.cos, lambda v: -np.sin(v), None),
    "tanh": (np.tanh, lambda v: np.cosh(v) ** -2.0, lambda v: np.abs(v) < 6),
    "sigmoid": (_sigmoid, lambda v: _sigmoid(v) * _sigmoid(-v), lambda v: np.abs(v) < 20),
    "relu": (lambda v: np.where(v > 0, v, 0), lambda v: np.where(v > 0, 1.0, 0.0), _smooth_or_zero),
}


def _unary(value: Callable, slope: Callable, domain: Callable | None) -> Callable:
    def rule(x: Dual) -> Dual:
        if domain is not None:
            require(domain(x.v))
        return Dual(value(x.v).astype(x.v.dtype), slope(x.v)[..., None] * x.t)

    return rule


def scale(x: Dual, scale: float = 1.0, bias: float = 0.0) -> Dual:
    return Dual(x.v * scale + bias, x.t * scale)


def clip(x: Dual, min: float | None = None, max: float | None = None) -> Dual:
    if x.v.dtype.kind in "iu":
        return Dual(np.clip(x.v, min, max), x.t)
    min, max = -np.inf if min is None else min, np.inf if max is None else max
    require((np.abs(x.v - min) > MARGIN) & (np.abs(x.v - max) > MARGIN))
    inside = (x.v > min) & (x.v < max)
    return Dual(np.clip(x.v, min, max), inside[..., None] * x.t)


def fill(x: Dual, value: float) -> Dual:
    return Dual(np.full_like(x.v, value), np.zeros_like(x.t))


def zero(x: Dual) -> Dual:
    return fill(x, 0)


def clone(x: Dual) -> Dual:
    return Dual(x.v.copy(), x.t.copy())


# ---- two inputs, broadcast -------------------------------------------------------------------------------------------


def _binary(rule: Callable) -> Callable:
    def broadcasting(x: Dual, y: Dual) -> Dual:
        shape = broadcast_shapes(x.v.shape, y.v.shape)
        xv, yv = broadcast_to(x.v, shape), broadcast_to(y.v, shape)
        return rule(xv, spread(x.t, shape), yv, spread(y.t, shape))

    return broadcasting


@_binary
def add(xv, xt, yv, yt) -> Dual:
    return Dual(xv + yv, xt + yt)


@_binary
def subtract(xv, xt, yv, yt) -> Dual:
    return Dual(xv - yv, xt - yt)


@_binary
def multiply(xv, xt, yv, yt) -> Dual:
    return Dual(xv * yv, xt * yv[..., None] + yt * xv[..., None])


@_binary
def divide(xv, xt, yv, yt) -> Dual:
    require(np.abs(yv) > 0.1)
    quotient = xv / yv
    return Dual(quotient, (xt - quotient[..., None] * yt) / yv[..., None])


@_binary
def power(xv, xt, yv, yt) -> Dual:
    """Return x ** y: for any x if y is a constant integer of 1 or more, otherwise for x between 0.05 and 10."""
    require(np.abs(yv) <= 4)
    if not ((yv == np.round(yv)) & (yv >= 1)).all() or yt.any():
        require((xv > 0.05) & (xv < 10))
        along_y = np.log(xv)[..., None] * (xv**yv)[..., None] * yt
    else:
        along_y = 0.0
    return Dual(xv**yv, (yv * xv ** (yv - 1))[..., None] * xt + along_y)


def _apart(xv, yv):
    """True where two numbers differ enough, because a tie has no derivative. Always True for integers and bools."""
    return (np.abs(xv - yv) > MARGIN) | (xv.dtype.kind in "iub")


@_binary
def maximum(xv, xt, yv, yt) -> Dual:
    require(_apart(xv, yv))
    return Dual(np.maximum(xv, yv), np.where((xv > yv)[..., None], xt, yt))


@_binary
def minimum(xv, xt, yv, yt) -> Dual:
    require(_apart(xv, yv))
    return Dual(np.minimum(xv, yv), np.where((xv < yv)[..., None], xt, yt))


def where(condition: Dual, x: Dual, y: Dual) -> Dual:
    shape = broadcast_shapes(condition.v.shape, x.v.shape, y.v.shape)
    chosen = np.broadcast_to(condition.v, shape)[..., None]
    return Dual(np.where(condition.v, x.v, y.v), np.where(chosen, spread(x.t, shape), spread(y.t, shape)))


def matmul(x: Dual, y: Dual, transpose_x: bool = False, transpose_y: bool = False) -> Dual:
    if transpose_x:
        x = Dual(x.v.swapaxes(-1, -2), x.t.swapaxes(-2, -3))
    if transpose_y:
        y = Dual(y.v.swapaxes(-1, -2), y.t.swapaxes(-2, -3))
    value = np.matmul(x.v, y.v)
    directions = [  # only those in which an operand changes; the others are 0
        np.matmul(x.t[..., k], y.v) + np.matmul(x.v, y.t[..., k])
        if x.t[..., k].any() or y.t[..., k].any()
        else np.zeros(value.shape)
        for k in range(DIRECTIONS)
    ]
    return Dual(value, np.stack(directions, axis=-1))


# ---- reductions ------------------------------------------------------------------------------------------------------


def _axes(axis, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    axes = (axis,) if isinstance(axis, int) else axis
    if not all(-ndim <= a < ndim for a in axes):
        raise ValueError("no such axis")
    return tuple(a % ndim for a in axes)


def _reduction(rule: Callable) -> Callable:
    """Call ``rule`` after moving the reduced elements to the last dimension of the values, and to the last but one of
    the tangents.
    """

    def reducing(x: Dual, axis=None, keepdim: bool = False) -> Dual:
        axes = _axes(axis, x.v.ndim)
        kept = tuple(a for a in range(x.v.ndim) if a not in axes)
        shape = tuple(x.v.shape[a] for a in kept)
        count = math.prod(x.v.shape[a] for a in axes)
        v = x.v.transpose(*kept, *axes).reshape(*shape, count)
        t = x.t.transpose(*kept, *axes, x.v.ndim).reshape(*shape, count, DIRECTIONS)
        value, tangent = rule(v, t)
        if keepdim:
            shape = tuple(1 if a in axes else n for a, n in enumerate(x.v.shape))
        return Dual(np.asarray(value).reshape(shape), np.asarray(tangent).reshape(*shape, DIRECTIONS))

    return reducing


@_reduction
def sum_(v, t):
    return v.sum(-1), t.sum(-2)


@_reduction
def mean(v, t):
    require(v.shape[-1] > 0)
    return v.sum(-1) / v.shape[-1], t.sum(-2) / v.shape[-1]


@_reduction
def prod(v, t):
    # The products of the other elements are computed without a division, so that an element may be 0.
    others = [np.delete(v, i, axis=-1).prod(-1) for i in range(v.shape[-1])]
    return v.prod(-1), sum((o[..., None] * t[..., i, :] for i, o in enumerate(others)), np.zeros(t.shape[-1]))


def _extreme(v, t, best):
    require(v.shape[-1] > 0)
    ordered = np.sort(v, axis=-1)
    require(np.diff(ordered, axis=-1) > MARGIN)  # a tie has no derivative
    winner = best(v, axis=-1)[..., None]
    return np.take_along_axis(v, winner, -1)[..., 0], np.take_along_axis(t, winner[..., None], -2)[..., 0, :]


@_reduction
def max_(v, t):
    return _extreme(v, t, np.argmax)


@_reduction
def min_(v, t):
    return _extreme(v, t, np.argmin)


# ---- joining and copying ---------------------------------------------------------------------------------------------


def concat(*xs: Dual, axis: int = 0) -> Dual:
    axis %= xs[0].v.ndim
    return Dual(np.concatenate([x.v for x in xs], axis), np.concatenate([x.t for x in xs], axis))


def stack(*xs: Dual, axis: int = 0) -> Dual:
    axis %= xs[0].v.ndim + 1
    return Dual(np.stack([x.v for x in xs], axis), np.stack([x.t for x in xs], axis))


def expand(x: Dual, shape) -> Dual:
    padded = (1,) * (len(shape) - x.v.ndim) + x.v.shape
    shape = tuple(old if new == -1 else new for old, new in zip(padded, shape, strict=True))
    return Dual(np.broadcast_to(x.v, shape).copy(), spread(x.t, shape).copy())


RULES: dict[str, Callable] = {name: _unary(*row) for name, row in UNARY.items()}
RULES |= {f.__name__: f for f in (scale, clip, fill, zero, clone, where, matmul, concat, stack, expand)}
RULES |= {"add": add, "subtract": subtract, "multiply": multiply, "divide": divide, "pow": power}
RULES |= {"maximum": maximum, "minimum": minimum}
RULES |= {"sum": sum_, "mean": mean, "prod": prod, "max": max_, "min": min_}
REDUCTIONS = ("sum", "mean", "max", "min", "prod")
BINARY = ("add", "subtract", "multiply", "divide", "pow", "maximum", "minimum")
