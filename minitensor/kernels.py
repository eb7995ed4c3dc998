"""The array functions behind the derivative table: forward ones that are more than one numpy function, and the
helpers that its rules call. They take and return numpy arrays and know nothing of tensors.

A forward function takes ``out`` last. It checks everything before it writes into it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitensor.dtypes import DTYPES, FLOATS

Array = np.ndarray

#: A ready-made zero saves converting a Python number at every call: 200 ns.
_ZEROS = {dtype.numpy: np.zeros((), dtype.numpy) for dtype in DTYPES.values()}

# ---------- forward ----------


def square(a: Array, out: Array | None = None) -> Array:
    """``a * a``."""
    _no_bools("square", a)
    return np.square(a, out=out)


def negative(a: Array, out: Array | None = None) -> Array:
    """``-a``; in place by multiplication, because numpy 2.4.6's negative misreads some strided arrays there."""
    _no_bools("neg", a)
    return np.negative(a) if out is None else np.multiply(a, a.dtype.type(-1), out=out)


def _no_bools(op: str, a: Array) -> None:
    if a.dtype == np.bool_:
        raise TypeError("bools have no arithmetic of their own; convert first: `x.astype('int64')`")


def power(a: Array, b: Array, out: Array | None = None) -> Array:
    """``a ** b``; squares by multiplication, which is many times faster than the general power."""
    _no_bools("pow", a)
    if b.ndim == 0 and a.dtype in FLOATS:
        exponent = b.item()
        if exponent == 2:
            return np.square(a, out=out)
        if exponent == 1:
            return np.positive(a, out=out)
    if out is not None and a.dtype not in FLOATS and (b < 0).any():
        # numpy would find it on its way, with half of the result written.
        raise ValueError("Integers to negative integer powers are not allowed.")
    return np.power(a, b, out=out)


def number(op: str, name: str, given: Any) -> int | float:
    """``given`` as a Python number.

    Raises:
        TypeError: when it is not one number.
    """
    if not getattr(given, "stop_gradient", True):
        raise TypeError(f"{op}: {name} is a number, and no gradient goes to it; this tensor wants one. Use multiply.")
    if not isinstance(given, (int, float)) or isinstance(given, np.generic):
        if getattr(given, "size", None) != 1 or not hasattr(given, "item"):
            raise TypeError(f"{op}: {name} must be a number, not {type(given).__name__}")
        given = given.item()
    if isinstance(given, (bool, int, float)):
        return int(given) if isinstance(given, bool) else given
    raise TypeError(f"{op}: {name} must be a number, not {type(given).__name__}")


def _for_result(op: str, a: Array, numbers: list[Any], out: Array | None) -> Array:
    """``a``, or its float32 copy when it holds integers and a number is not whole."""
    if a.dtype in FLOATS or all(n is None or isinstance(n, int) for n in numbers):
        return a
    if out is not None:
        raise TypeError(f"{op}: the result is not of dtype {a.dtype.name}")
    return a.astype(np.float32)


def scale(a: Array, scale: Any, bias: Any, bias_after_scale: bool, out: Array | None = None) -> Array:
    """``scale * a + bias``, or ``scale * (a + bias)``."""
    _no_bools("scale", a)
    whole = [_whole(scale), _whole(bias)]
    a = _for_result("scale", a, whole, out)
    if a.dtype not in FLOATS:
        scale, bias = whole
    if not bias_after_scale:
        bias = bias * scale
    # Both numbers are converted, and may fail, before anything is written.
    factor, summand = a.dtype.type(scale), a.dtype.type(bias)
    with np.errstate(all="ignore"):
        result = np.multiply(a, factor, out=out)
        if bias == 0:
            return result
        return np.add(result, summand, out=result if isinstance(result, np.ndarray) else None)


def _whole(n: int | float) -> int | float:
    """2 for 2.0: Paddle's default scale 1.0 must not turn integers into floats."""
    return int(n) if isinstance(n, float) and n.is_integer() else n


def clip(a: Array, min: Any, max: Any, out: Array | None = None) -> Array:
    """``a`` between ``min`` and ``max``; None is no bound."""
    _no_bools("clip", a)
    a = _for_result("clip", a, [min, max], out)
    if min is None and max is None:
        return np.positive(a, out=out)
    return np.clip(a, *(None if n is None else a.dtype.type(n) for n in (min, max)), out=out)


def relu(a: Array, out: Array | None = None) -> Array:
    """``a`` where it is positive, else 0."""
    return np.maximum(a, _ZEROS[a.dtype], out=out)


def reciprocal(a: Array, out: Array | None = None) -> Array:
    """``1 / a``."""
    return np.divide(1, a, out=out)


def rsqrt(a: Array, out: Array | None = None) -> Array:
    """``1 / sqrt(a)``."""
    with np.errstate(all="ignore"):
        return np.divide(1, np.sqrt(a, out=out), out=out)


def sigmoid(a: Array, out: Array | None = None) -> Array:
    """``1 / (1 + exp(-a))``, by way of tanh, which does not overflow."""
    with np.errstate(all="ignore"):
        half = np.asarray(np.multiply(a, 0.5, out=out))
        np.tanh(half, out=half)
        np.multiply(half, 0.5, out=half)
        return np.add(half, 0.5, out=half)


def round_half_away(a: Array, out: Array | None = None) -> Array:
    """The nearest whole number, halves away from zero; numpy's own goes to even."""
    _no_bools("round", a)
    if a.dtype not in FLOATS:
        return np.positive(a, out=out)
    with np.errstate(all="ignore"):
        away = np.trunc(a)
        away = away + np.copysign(np.abs(a - away) >= 0.5, a)
    # inf - inf is not a number.
    away = np.where(np.isfinite(a), away, a).astype(a.dtype)
    if out is None:
        return away
    out[...] = away
    return out


def fill(a: Array, value: Any, out: Array) -> Array:
    """Every element becomes ``value``, truncated where ``a`` holds integers."""
    np.copyto(out, stored("fill_", value, a.dtype))
    return out


def stored(op: str, value: int | float, dtype: np.dtype) -> Array:
    """A number as it is stored: a float loses its fraction where ``dtype`` is an integer's.

    Raises:
        ValueError: when it does not fit.
    """
    try:
        if dtype.kind == "i":
            value = int(value)
        return np.asarray(value, dtype)
    except (OverflowError, ValueError):
        raise ValueError(f"{op}: {value} can not be stored in a tensor of dtype {dtype.name}") from None


def stored_array(op: str, array: Array, dtype: np.dtype) -> Array:
    """An array as it is stored in ``dtype``: fractions are cut off where that is an integer's.

    Raises:
        ValueError: when an element does not fit.
    """
    if dtype.kind == "i" and array.dtype != dtype and array.size and array.dtype.kind in "fiu":
        lowest, highest = array.min().item(), array.max().item()
        bounds = np.iinfo(dtype)
        # Written so that nan fails it.
        if not (bounds.min <= lowest and highest <= bounds.max):
            worst = lowest if not lowest >= bounds.min else highest
            raise ValueError(f"{op}: {worst} can not be stored in a tensor of dtype {dtype.name}")
    # By identity: operations compare dtype objects, and an unpickled array brings one of its own.
    return array if array.dtype is dtype else array.astype(dtype)


def fill_zero(a: Array, out: Array) -> Array:
    """Every element becomes 0."""
    np.copyto(out, 0)
    return out


def overwrite(target: Array, numbers: Array) -> None:
    """``target[...] = numbers``, also where they share memory.

    numpy copies first only where it sees the need, and misses some: a row overwritten with a column that crosses it.
    """
    if np.may_share_memory(target, numbers):
        numbers = numbers.copy()
    np.copyto(target, numbers, casting="unsafe")


def where(condition: Array, a: Array, b: Array) -> Array:
    """``a`` where ``condition``, else ``b``."""
    if condition.dtype != np.bool_:
        raise TypeError("condition must be a bool tensor, as `x > 0` gives")
    return np.where(condition, a, b)


def copy(a: Array) -> Array:
    """A contiguous copy."""
    return np.array(a, order="C")


def matmul(a: Array, b: Array, transpose_a: bool, transpose_b: bool) -> Array:
    """Matrix product over the last two dimensions."""
    a, b = _turned(a, transpose_a), _turned(b, transpose_b)
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError(
            f"operands must have at least one dimension; the shapes are {list(a.shape)} and {list(b.shape)}"
        )
    inner = a.shape[-1], b.shape[-2 if b.ndim > 1 else 0]
    if inner[0] != inner[1]:
        raise ValueError(
            f"shapes {list(a.shape)} and {list(b.shape)} do not fit: the last dimension of the first ({inner[0]}) must "
            f"equal the {'last but one' if b.ndim > 1 else 'only one'} of the second ({inner[1]})"
        )
    return np.matmul(a, b)


def axes(shape: tuple[int, ...], axis: Any) -> tuple[int, ...]:
    """The axes that ``axis`` (None for all, a number, or several) names."""
    if axis is None or (isinstance(axis, (list, tuple)) and not axis):
        return tuple(range(len(shape)))
    return np.lib.array_utils.normalize_axis_tuple(tuple(axis) if isinstance(axis, (list, tuple)) else axis, len(shape))


def _reduce(ufunc: np.ufunc, a: Array, axis: Any, keepdim: bool) -> Array:
    return ufunc.reduce(a, axis=axes(a.shape, axis), keepdims=keepdim)


def sum_(a: Array, axis: Any, keepdim: bool) -> Array:
    """Sum; of bools and integers as int64."""
    if a.dtype not in FLOATS:
        a = a.astype(np.int64)
    return _reduce(np.add, a, axis, keepdim)


def mean(a: Array, axis: Any, keepdim: bool) -> Array:
    """Mean."""
    return np.mean(a, axis=axes(a.shape, axis), keepdims=keepdim)


def prod(a: Array, axis: Any, keepdim: bool) -> Array:
    """Product."""
    return _reduce(np.multiply, a, axis, keepdim)


def _no_void(word: str, a: Array, axis: Any) -> None:
    if 0 in (a.shape[i] for i in axes(a.shape, axis)):
        raise ValueError(f"there is no {word} element along a dimension of length 0; the shape is {list(a.shape)}")


def max_(a: Array, axis: Any, keepdim: bool) -> Array:
    """Largest element."""
    _no_void("largest", a, axis)
    return _reduce(np.maximum, a, axis, keepdim)


def min_(a: Array, axis: Any, keepdim: bool) -> Array:
    """Smallest element."""
    _no_void("smallest", a, axis)
    return _reduce(np.minimum, a, axis, keepdim)


# ---------- arguments, made constant before anything is computed or saved ----------


def scale_arguments(scale: Any, bias: Any, bias_after_scale: Any) -> tuple[Any, ...]:
    """Two numbers and a bool."""
    return number("scale", "scale", scale), number("scale", "bias", bias), bool(bias_after_scale)


def clip_arguments(min: Any, max: Any) -> tuple[Any, ...]:
    """Two numbers, or None."""
    return tuple(None if n is None else number("clip", name, n) for name, n in (("min", min), ("max", max)))


def fill_arguments(value: Any) -> tuple[Any, ...]:
    """One number."""
    return (number("fill_", "value", value),)


def reduce_arguments(axis: Any, keepdim: Any) -> tuple[Any, ...]:
    """None, an integer or a tuple of integers; and a bool."""
    if hasattr(axis, "tolist"):
        axis = axis.tolist()
    if axis is not None:
        try:
            axis = tuple(i.__index__() for i in axis) if isinstance(axis, (list, tuple)) else axis.__index__()
        except AttributeError:
            raise TypeError(f"axis is an integer, a list of integers or None, not {axis!r}") from None
    return axis, bool(keepdim)


def matmul_arguments(transpose_x: Any, transpose_y: Any) -> tuple[Any, ...]:
    """Two bools."""
    return bool(transpose_x), bool(transpose_y)


# ---------- what rules call ----------

cos, sin, sign, zeros_like = np.cos, np.sin, np.sign, np.zeros_like


def zero(g: Array) -> Any:
    """A zero of ``g``'s dtype, to select where no gradient goes: selecting, unlike multiplying, keeps out nan."""
    return g.dtype.type(0)


def inside(x: Array, min: Any, max: Any) -> Array:
    """Where ``clip`` let ``x`` through: strictly between the bounds, as in Paddle."""
    above = True if min is None else x > min
    below = True if max is None else x < max
    return np.logical_and(above, below)


def power_slope(x: Array, y: Array) -> Array:
    """The slope of ``x ** y`` along x; 0 where y is 0, also at x = 0."""
    if y.ndim == 0:
        exponent = y.item()
        if exponent == 2:
            return x * y
        if exponent == 0:
            return np.zeros_like(x)
    with np.errstate(all="ignore"):
        return np.where(y == 0, zero(x), y * np.power(x, y - 1))


def power_log(x: Array, out: Array) -> Array:
    """The slope of ``out = x ** y`` along y; 0 at x = 0."""
    with np.errstate(all="ignore"):
        return np.where(x == 0, zero(out), out * np.log(x))


def spread(g: Array, shape: tuple[int, ...], axis: Any, keepdim: bool) -> Array:
    """The gradient ``g`` of a reduction, repeated over what was reduced."""
    if not keepdim:
        g = np.expand_dims(g, axes(shape, axis))
    return np.broadcast_to(g, shape)


def along(shape: tuple[int, ...], axis: Any) -> int:
    """How many elements went into each result of a reduction."""
    return int(np.prod([shape[i] for i in axes(shape, axis)], dtype=np.int64))


def to_extremes(g: Array, x: Array, out: Array, axis: Any, keepdim: bool) -> Array:
    """The gradient of max or min: to the elements equal to the result, in equal shares."""
    at = x == spread(out, x.shape, axis, keepdim)
    shares = at.sum(axis=axes(x.shape, axis), keepdims=True)
    return np.where(at, spread(g, x.shape, axis, keepdim) / shares.astype(g.dtype), zero(g))


def product_of_others(x: Array, axis: Any) -> Array:
    """For every element the product of the others in its reduction; no division, so zeros are no exception."""
    if x.size == 0:
        return np.zeros_like(x)
    along_axes = axes(x.shape, axis)
    kept = [i for i in range(x.ndim) if i not in along_axes]
    rows = x.transpose([*kept, *along_axes])
    order = rows.shape
    rows = rows.reshape([*order[: len(kept)], -1])
    before, after = np.ones_like(rows), np.ones_like(rows)
    before[..., 1:] = np.cumprod(rows[..., :-1], axis=-1)
    after[..., :-1] = np.cumprod(rows[..., :0:-1], axis=-1)[..., ::-1]
    return (before * after).reshape(order).transpose(np.argsort([*kept, *along_axes]))


def _result_matrix(g: Array, x_is_vector: bool, y_is_vector: bool) -> Array:
    if x_is_vector:
        g = np.expand_dims(g, -1 if y_is_vector else -2)
    if y_is_vector:
        g = np.expand_dims(g, -1)
    return g


def summed_to(g: Array, shape: tuple[int, ...]) -> Array:
    """Sum the broadcast dimensions of ``g`` away: what the engine does after every rule."""
    if g.shape == shape:
        return g
    if g.ndim < len(shape):
        g = g.reshape((1,) * (len(shape) - g.ndim) + g.shape)
    extra = g.ndim - len(shape)
    if extra > 0:
        g = np.add.reduce(g, axis=tuple(range(extra)))
    widened = tuple(i for i, n in enumerate(shape) if n == 1 and g.shape[i] != 1)
    if widened:
        g = np.add.reduce(g, axis=widened, keepdims=True)
    return np.broadcast_to(g, shape)


def _turned(x: Array, transpose: bool) -> Array:
    """The last two dimensions exchanged, if asked for; a vector stays."""
    return np.swapaxes(x, -1, -2) if transpose and x.ndim > 1 else x


def matmul_left(g: Array, y: Array, shape: tuple[int, ...], transpose_x: bool, transpose_y: bool) -> Array:
    """The gradient of ``x @ y`` for x, which has ``shape``."""
    x_is_vector = len(shape) == 1
    g = _result_matrix(g, x_is_vector, y.ndim == 1)
    right = y[:, None] if y.ndim == 1 else _turned(y, transpose_y)
    gx = np.matmul(g, np.swapaxes(right, -1, -2))
    return summed_to(gx, (1, *shape)).reshape(shape) if x_is_vector else _turned(gx, transpose_x)


def matmul_right(g: Array, x: Array, shape: tuple[int, ...], transpose_x: bool, transpose_y: bool) -> Array:
    """The gradient of ``x @ y`` for y, which has ``shape``."""
    y_is_vector = len(shape) == 1
    g = _result_matrix(g, x.ndim == 1, y_is_vector)
    left = x[None, :] if x.ndim == 1 else _turned(x, transpose_x)
    gy = np.matmul(np.swapaxes(left, -1, -2), g)
    return summed_to(gy, (*shape, 1)).reshape(shape) if y_is_vector else _turned(gy, transpose_y)
