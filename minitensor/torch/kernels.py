"""Functions on arrays for operations that PyTorch and Paddle define differently: forward functions, random draws, and
parts of derivative rules.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitensor.engine.core.history import Node, Operation, new_node
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.creation.making import zeros_like
from minitensor.engine.device.arrays import as_array, broadcast_shapes, host_array, like
from minitensor.engine.dtypes import FLOATS
from minitensor.engine.kernels import activations, elementwise, rounding
from minitensor.engine.kernels.numbers import number, stored
from minitensor.engine.kernels.random import need_writeable
from minitensor.engine.kernels.sixteen_bits import in_own_dtype
from minitensor.engine.modes import modes
from minitensor.torch.arguments import need_int
from minitensor.torch.generator import generator_of

Array = np.ndarray

# ---------- forward ----------


def round_half_to_even(a: Array, decimals: int, out: Array | None = None) -> Array:
    """Return ``a`` rounded to ``decimals`` decimal places. Halves are rounded to the even neighbour: 0.5 to 0, 1.5 to
    2.
    """
    if a.dtype not in FLOATS:
        if a.dtype == np.bool_:
            raise TypeError("bools are not rounded; convert first: `x.long()`")
        return np.positive(a, out=out)
    if decimals == 0:
        return np.rint(a, out=out)
    scale = a.dtype.type(10.0 ** abs(decimals))
    with np.errstate(all="ignore"):
        scaled = np.multiply(a, scale, out=out) if decimals > 0 else np.divide(a, scale, out=out)
        scaled = np.rint(scaled, out=out)
        return np.divide(scaled, scale, out=out) if decimals > 0 else np.multiply(scaled, scale, out=out)


def power(a: Array, b: Array, out: Array | None = None) -> Array:
    """Return ``a ** b``. If both hold integers and ``b`` is negative, the result is truncated to 0, 1 or -1."""
    if a.dtype not in FLOATS and a.dtype != np.bool_ and b.ndim and bool((b < 0).any()):
        a = np.broadcast_to(a, broadcast_shapes(a.shape, b.shape))
        truncated = np.where(a == 1, 1, np.where(a == -1, 1 - 2 * np.abs(b % 2), 0))
        result = np.where(b < 0, truncated, np.power(a, np.maximum(b, 0))).astype(a.dtype)
        if out is None:
            return result
        np.copyto(out, result)
        return out
    return elementwise.power(a, b, out)


def remainder(a: Array, b: Array, out: Array | None = None) -> Array:
    """Return the remainder of ``a / b``, with the sign of ``b``. A remainder of zero has the sign of ``a``."""
    if a.dtype not in FLOATS:
        return rounding.remainder(a, b, out)
    with np.errstate(all="ignore"):
        rest = np.fmod(a, b)
        return np.add(rest, np.where((rest != 0) & ((rest < 0) != (b < 0)), b, a.dtype.type(0) * rest), out=out)


def frac(a: Array, out: Array | None = None) -> Array:
    """Return ``a`` without its integer part."""
    if a.dtype not in FLOATS:
        return rounding.frac(a, out)
    with np.errstate(all="ignore"):
        return np.subtract(a, np.trunc(a), out=out)


def sign(a: Array, out: Array | None = None) -> Array:
    """Return the sign of each element, 1, 0 or -1. The sign of nan is 0."""
    signs = as_array(elementwise.sign(a, out))
    if signs.dtype in FLOATS:
        np.copyto(signs, 0, where=np.isnan(signs))
    return signs


def lerp(a: Array, b: Array, weight: Array, out: Array | None = None) -> Array:
    """Return ``a + weight * (b - a)``. If ``abs(weight)`` is at least 0.5, compute ``b - (1 - weight) * (b - a)``."""
    with np.errstate(all="ignore"):
        distance = b - a
        near = np.absolute(weight) < 0.5
        if isinstance(weight, (int, float, np.generic)):  # one formula for all elements, without `where`
            return np.add(a if near else b, (weight if near else weight - 1) * distance, out=out)
        return np.add(np.where(near, a, b), np.where(near, weight, weight - 1) * distance, out=out)


def hardtanh_arguments(low: Any, high: Any) -> tuple[Any, ...]:
    """Check that the bounds are numbers, and that ``low`` is not above ``high``. If one is nan, all results are nan."""
    low, high = number("hardtanh", "min_val", low), number("hardtanh", "max_val", high)
    return activations.hardtanh_arguments(low, high) if low > high else (low, high)


def hardtanh(a: Array, low: float, high: float, out: Array | None = None) -> Array:
    """Return ``a``, but not below ``low`` and not above ``high``, in the dtype of ``a``."""
    if a.dtype in FLOATS:
        return activations.hardtanh(a, low, high, out)
    if a.dtype == np.bool_:
        raise ValueError("Bool inputs not supported for hardtanh")
    return np.clip(a, stored("hardtanh", low, a.dtype), stored("hardtanh", high, a.dtype), out=out)


def relu6(a: Array, out: Array | None = None) -> Array:
    """Return ``a``, but not below 0 and not above 6, in the dtype of ``a``."""
    return hardtanh(a, 0, 6, out)


def zero(a: Array, out: Array) -> Array:
    """Fill ``out`` with 0 or False, and return ``out``."""
    np.copyto(out, 0, casting="unsafe")
    return out


# ---------- random numbers ----------

# Each function that fills ``out`` also returns ``out``. None of them reads ``a``, the present array of the tensor.


def _in_memory_order(array: Array) -> Array:
    """Return a view with the dimensions sorted by stride, largest first: PyTorch fills elements in that order."""
    return array.transpose(sorted(range(array.ndim), key=lambda d: -abs(array.strides[d])))


def _fill(out: Array, drawn: Array) -> Array:
    np.copyto(out, like(drawn, out), casting="unsafe")
    return out


def uniform(a: Array, low: float, high: float, generator: Any, out: Array) -> Array:
    """Fill ``out`` with numbers drawn uniformly from ``low`` to ``high``."""
    need_writeable(out)
    low, high = number("uniform_", "from", low), number("uniform_", "to", high)
    if not low <= high:
        raise ValueError(f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}")
    cells = _in_memory_order(out)
    _fill(cells, generator_of(generator).uniform(cells.shape, out.dtype, low, high))
    return out


def normal_arguments(mean: Any, std: Any, generator: Any) -> tuple[Any, ...]:
    """Check the arguments of ``normal_`` and return them. Raise ValueError if the standard deviation is negative."""
    mean, std = number("normal_", "mean", mean), number("normal_", "std", std)
    if not std >= 0:
        raise ValueError(f"normal expects std >= 0.0, but found std {std}")
    return mean, std, generator


def normal(a: Array, mean: float, std: float, generator: Any, out: Array) -> Array:
    """Fill ``out`` with numbers from the normal distribution."""
    need_writeable(out)
    dense = bool(out.flags.c_contiguous)
    cells = _in_memory_order(out)
    _fill(cells, generator_of(generator).normal(cells.shape, out.dtype, mean, std, dense))
    return out


def bernoulli_arguments(p: Any, generator: Any) -> tuple[Any, ...]:
    """Check the arguments of ``bernoulli_`` and return them. Raise ValueError if ``p`` has a number that is not a
    probability.
    """
    p = host_array(p._array) if isinstance(p, Tensor) else number("bernoulli_", "p", p)
    if np.any(np.less(p, 0)) or np.any(np.greater(p, 1)):
        raise ValueError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return p, generator


def bernoulli(a: Array, p: Any, generator: Any, out: Array) -> Array:
    """Fill ``out`` with ones and zeros. An element becomes 1 with probability ``p``."""
    need_writeable(out, only_floats=False)
    if isinstance(p, np.ndarray):
        p = np.broadcast_to(p, out.shape)
    drawn = generator_of(generator).uniform(out.shape, p.dtype if isinstance(p, np.ndarray) else np.dtype(np.float64))
    return _fill(out, drawn < p)


def exponential(a: Array, lambd: Any, generator: Any, out: Array) -> Array:
    """Fill ``out`` with numbers from the exponential distribution of rate ``lambd``."""
    need_writeable(out)
    rate = number("exponential_", "lambd", lambd)
    if not rate > 0:
        raise ValueError(f"exponential_ expects lambda > 0.0, but found lambda={rate}")
    return _fill(out, -np.log1p(-generator_of(generator).uniform(out.shape, np.dtype(np.float64))) / rate)


def random_arguments(from_: Any, to: Any, generator: Any) -> tuple[Any, ...]:
    """Check the arguments of ``random_`` and return them. Raise TypeError if a bound is not an integer.

    ``to`` may be None.
    """
    least = need_int("random_", "from", from_)
    return least, None if to is None else need_int("random_", "to", to, 2), generator


#: Maps each dtype to the largest n for which the dtype can represent all integers from 0 to 2**n - 1.
_EXACT_BITS = {
    "bool": 1,
    "uint8": 8,
    "int8": 7,
    "int16": 15,
    "int32": 31,
    "int64": 63,
    "bfloat16": 8,
    "float16": 11,
    "float32": 24,
    "float64": 53,
}


@in_own_dtype
def random(a: Array, from_: int, to: int | None, generator: Any, out: Array) -> Array:
    """Fill ``out`` with integers from ``from_`` (included) to ``to`` (excluded).

    If ``random_`` has one argument, the integers are drawn from 0 (included) to that number (excluded). Without
    arguments, they are drawn from 0 to the largest n such that the dtype can represent all integers up to n.
    """
    need_writeable(out, only_floats=False)
    source = generator_of(generator)
    if to is None:
        if from_:
            from_, to = 0, from_
        else:
            bits = _EXACT_BITS[out.dtype.name]
            words = source.long_words(out.size) if bits > 32 else source.words(out.size)
            most = 2**bits + (1 if out.dtype in FLOATS else 0)
            return _fill(out, (words % np.uint64(most)).reshape(out.shape))
    if not from_ < to:
        raise ValueError(f"random_ expects 'from' to be less than 'to', but got from={from_} >= to={to}")
    return _fill(out, source.integers(out.shape, from_, to))


# ---------- functions in derivative rules ----------


def within_bounds(x: np.ndarray, min: Any, max: Any) -> np.ndarray:
    """Return True where ``clamp`` leaves ``x`` unchanged. As in PyTorch, that includes elements equal to a bound."""
    within = np.ones_like(x, np.bool_) if min is None else x >= min
    return within if max is None else np.logical_and(within, x <= max)


def at_or_beyond_bounds(x: np.ndarray, min: Any, max: Any) -> np.ndarray:
    """Return True where ``hardtanh`` has the slope 0: where ``x`` is outside the bounds or equal to a bound."""
    return np.logical_or(x <= min, x >= max)


def with_no_slope(gradient: np.ndarray, saved: np.ndarray) -> np.ndarray:
    """Return ``gradient``. Its derivative by ``saved`` is 0, which matters only if the backward pass is recorded."""
    return gradient


def with_no_slope_on_tensors(gradient: Tensor, saved: Tensor) -> Tensor:
    """Return ``gradient``, recorded as a function of ``saved``, so that the gradient of ``saved`` is 0, not None."""
    source = saved._current()
    if not modes.grad or source is None:
        return gradient
    out = Tensor._alias(gradient._array, gradient._storage)
    out._node = new_node(_NO_SLOPE, (gradient._current(), source), (), gradient._array.shape)
    return out


def _and_zeros(node: Node, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return g, np.zeros_like(g)


def _and_zeros_on_tensors(node: Node, g: Tensor) -> tuple[Tensor, Tensor]:
    return g, zeros_like(g)


_NO_SLOPE = Operation("no_slope", _and_zeros)
_NO_SLOPE.later = lambda: _and_zeros_on_tensors

#: The functions that derivative rules call, keyed by name: first for a backward pass on arrays, then for a recorded
#: backward pass on tensors.
ON_ARRAYS = {"within_bounds": within_bounds, "at_or_beyond_bounds": at_or_beyond_bounds, "with_no_slope": with_no_slope}
ON_TENSORS = {
    "within_bounds": lambda x, min, max: Tensor._made(within_bounds(x._array, min, max)),
    "at_or_beyond_bounds": lambda x, min, max: Tensor._made(at_or_beyond_bounds(x._array, min, max)),
    "with_no_slope": with_no_slope_on_tensors,
}
