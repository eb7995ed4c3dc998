"""Fill an array with random numbers, drawn in the order of its elements.

The numbers are drawn from the generator that ``minitensor.seed`` restarts. The generator writes them directly into a
contiguous host array of float32 or float64. For any other array, it draws into a new array, which is then copied.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minitensor.engine.checks import shown
from minitensor.engine.core.regions import writeable
from minitensor.engine.device.arrays import like
from minitensor.engine.dtypes import FLOATS, HALVES, limits
from minitensor.engine.kernels.indexed import whole
from minitensor.engine.kernels.numbers import number
from minitensor.engine.kernels.sixteen_bits import in_own_dtype
from minitensor.engine.random import source

Array = np.ndarray


def _generator(seed: int = 0) -> np.random.Generator:
    """Return the program's generator, or a new generator for a seed other than 0."""
    return np.random.Generator(np.random.PCG64(seed)) if seed else source.generator


def need_writeable(out: Array, only_floats: bool = True) -> None:
    """Raise an error if random numbers cannot be stored in ``out``.

    Raises:
        TypeError: if only floats can be stored, and ``out`` has another dtype.
        ValueError: if ``out`` is read-only, or if its elements share memory.
    """
    if only_floats and out.dtype not in FLOATS:
        raise TypeError(f"such random numbers cannot be stored in dtype {out.dtype.name}")
    if not writeable(out):
        raise ValueError("assignment destination is read-only")


def _draw(draw: Callable[..., Array], out: Array) -> Array:
    """Fill ``out`` by calling ``draw``, a method of a generator with the parameters ``size``, ``dtype`` and ``out``."""
    if out.dtype in HALVES:
        return _fill(out, draw(out.shape, dtype=np.float32))
    if type(out) is np.ndarray and out.flags.c_contiguous:
        draw(dtype=out.dtype, out=out)
        return out
    return _fill(out, draw(out.shape, dtype=out.dtype))


def between_0_and_1(generator: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    """Return numbers drawn uniformly from 0 (included) to 1 (excluded).

    A 16-bit float is not rounded from a float32, because some would be rounded up to 1. Instead, it is a multiple of
    the distance between the two largest 16-bit floats below 1.
    """
    if dtype not in HALVES:
        return np.asarray(generator.random(shape, dtype))
    steps = 2.0 / float(limits(dtype).eps)
    return np.asarray(np.floor(generator.random(shape, np.float32) * steps) / steps, dtype)


def _fill(out: Array, numbers: Array) -> Array:
    """Fill ``out`` with numbers that were drawn on the host, so that every device gets the same numbers."""
    np.copyto(out, like(np.asarray(numbers), out), casting="unsafe")
    return out


def _scale_and_shift(out: Array, scale: float, shift: float) -> Array:
    with np.errstate(all="ignore"):
        np.multiply(out, out.dtype.type(scale), out=out)
        return np.add(out, out.dtype.type(shift), out=out)


def finite(op: str, name: str, given: Any) -> float:
    """Return ``given`` as a float; raise ValueError if it is infinite or nan."""
    value = number(op, name, given)
    if not math.isfinite(value):
        raise ValueError(f"{op}: {name} must be a finite number, not {value}")
    return float(value)


def _positive(op: str, name: str, given: Any) -> float:
    value = finite(op, name, given)
    if value <= 0:
        raise ValueError(f"{op}: {name} must be above 0, not {value}")
    return value


# ---------- uniform, normal and derived distributions ----------


def uniform_arguments(min: Any, max: Any, seed: Any, op: str = "uniform_") -> tuple[Any, ...]:
    """Check that ``min`` is not above ``max``, and that ``seed`` is a non-negative integer."""
    low, high, seed = finite(op, "min", min), finite(op, "max", max), whole(f"{op}: seed", seed)
    if low > high:
        raise ValueError(f"{op}: min must be at most max, but they are {low} and {high}")
    if seed < 0:
        raise ValueError(f"{op}: a seed must be an integer, 0 or above, not {seed}")
    return low, high, seed


@in_own_dtype
def uniform(a: Array, min: float, max: float, seed: int, out: Array) -> Array:
    """Fill ``out`` with uniform numbers from ``min`` to ``max``."""
    need_writeable(out)
    generator = _generator(seed)
    if out.dtype in HALVES:
        _fill(out, between_0_and_1(generator, out.shape, out.dtype))
    else:
        _draw(generator.random, out)
    return _scale_and_shift(out, max - min, min)


def normal_arguments(mean: Any, std: Any) -> tuple[Any, ...]:
    """Check that ``mean`` is a number, and that ``std`` is a number of 0 or above."""
    return mean_and_deviation("normal_", mean, std)


def log_normal_arguments(mean: Any, std: Any) -> tuple[Any, ...]:
    """Check that ``mean`` is a number, and that ``std`` is a number of 0 or above."""
    return mean_and_deviation("log_normal_", mean, std)


def mean_and_deviation(op: str, mean: Any, std: Any) -> tuple[float, float]:
    """Check that ``mean`` is a number, and that ``std`` is a number of 0 or above; ``op`` is named in errors."""
    middle, deviation = finite(op, "mean", mean), finite(op, "std", std)
    if deviation < 0:
        raise ValueError(f"{op}: std must be at least 0, not {deviation}")
    return middle, deviation


def standard_normal(out: Array) -> Array:
    """Fill ``out`` with numbers from the normal distribution of mean 0 and variance 1."""
    return _draw(_generator().standard_normal, out)


def normal(a: Array, mean: float, std: float, out: Array) -> Array:
    """Fill ``out`` with numbers from the normal distribution."""
    need_writeable(out)
    return _scale_and_shift(standard_normal(out), std, mean)


def log_normal(a: Array, mean: float, std: float, out: Array) -> Array:
    """Fill ``out`` with e to the power of numbers from the normal distribution."""
    normal(a, mean, std, out)
    with np.errstate(all="ignore"):
        return np.exp(out, out=out)


def cauchy_arguments(loc: Any, scale: Any) -> tuple[Any, ...]:
    """Check that ``loc`` is a number, and that ``scale`` is a number above 0."""
    return finite("cauchy_", "loc", loc), _positive("cauchy_", "scale", scale)


def cauchy(a: Array, loc: float, scale: float, out: Array) -> Array:
    """Fill ``out`` with numbers from the Cauchy distribution: the tangents of uniform angles."""
    need_writeable(out)
    _scale_and_shift(_draw(_generator().random, out), math.pi, -math.pi / 2)
    with np.errstate(all="ignore"):
        np.tan(out, out=out)
    return _scale_and_shift(out, scale, loc)


def exponential_arguments(lam: Any) -> tuple[Any, ...]:
    """Check a number above 0."""
    return (_positive("exponential_", "lam", lam),)


def exponential(a: Array, lam: float, out: Array) -> Array:
    """Fill ``out`` with numbers from the exponential distribution of rate ``lam``."""
    need_writeable(out)
    return np.divide(_draw(_generator().standard_exponential, out), out.dtype.type(lam), out=out)


# ---------- whole numbers ----------


def _probability(op: str, name: str, given: Any, above: bool) -> Any:
    """Check a number, or an array of numbers, from 0 (excluded if ``above`` is true) to 1."""
    try:
        p = np.array(given, np.float64) if getattr(given, "ndim", 0) else np.float64(number(op, name, given))
    except OverflowError:  # an integer in `given` is above the largest float64
        raise ValueError(f"{op}: {name} must be a probability, not {shown(given)}") from None
    except (TypeError, ValueError):  # `given` is an array of text, or no array at all
        raise TypeError(f"{op}: {name} must be a probability or a tensor of them, not {type(given).__name__}") from None
    if not np.all((p > 0 if above else p >= 0) & (p <= 1)):
        bounds = "above 0 and at most 1" if above else "from 0 to 1"
        raise ValueError(f"{op}: {name} must be a probability, {bounds}, not {shown(given)}")
    return p


def _need_fitting(name: str, p: Any, out: Array) -> None:
    try:
        np.broadcast_to(p, out.shape)
    except ValueError:
        raise ValueError(
            f"{name} of shape {list(np.shape(p))} cannot be spread over a tensor of shape {list(out.shape)}"
        ) from None


def bernoulli_arguments(p: Any, op: str = "bernoulli_") -> tuple[Any, ...]:
    """Check a probability, or a tensor of them."""
    return (_probability(op, "p", p, above=False),)


def bernoulli(a: Array, p: Any, out: Array) -> Array:
    """Set each element of ``out`` to 1 with probability ``p``, else to 0."""
    need_writeable(out, only_floats=False)
    _need_fitting("p", p, out)
    if type(out) is np.ndarray and out.dtype in FLOATS:
        return np.less(_draw(_generator().random, out), p, out=out)
    drawn = _generator().random(out.shape, out.dtype if out.dtype in FLOATS else np.float32)
    return _fill(out, np.less(drawn, p))


def geometric_arguments(probs: Any) -> tuple[Any, ...]:
    """Check a probability above 0, or a tensor of them."""
    return (_probability("geometric_", "probs", probs, above=True),)


def geometric(a: Array, probs: Any, out: Array) -> Array:
    """Fill ``out`` with numbers of trials until the first success, which has probability ``probs`` in each trial."""
    need_writeable(out, only_floats=False)
    if out.dtype == np.bool_:
        raise TypeError("numbers of trials cannot be stored in dtype bool")
    _need_fitting("probs", probs, out)
    trials = _generator().geometric(probs, out.shape)
    if out.dtype not in FLOATS:
        trials = np.minimum(trials, np.iinfo(out.dtype).max)
    return _fill(out, trials)


def random_arguments(from_: Any, to: Any, generator: Any) -> tuple[Any, ...]:
    """Check the two bounds, and that ``generator`` is None. If only one bound is given, it is the end."""
    if generator is not None:
        raise TypeError("random_: generator must be None; minitensor.seed restarts the random numbers")
    start = whole("random_: from_", from_)
    if to is None:
        return (0, start or None, None)
    return (start, whole("random_: to", to), None)


def random(a: Array, from_: int, to: int | None, generator: None, out: Array) -> Array:
    """Fill ``out`` with integers from ``from_`` up to, not including, ``to``.

    If ``to`` is None, it is the largest integer of an integer dtype; for floats, the bound below which the dtype holds
    every integer; and 2 for bools.
    """
    need_writeable(out, only_floats=False)
    if out.dtype in FLOATS:
        least, end = -(2 ** (np.finfo(out.dtype).nmant + 1)), 2 ** (np.finfo(out.dtype).nmant + 1)
    elif out.dtype == np.bool_:
        least, end = 0, 2
    else:
        least, end = np.iinfo(out.dtype).min, np.iinfo(out.dtype).max
    to = end if to is None else to
    if from_ >= to:
        raise ValueError(f"`from_` must be below `to`, but they are {from_} and {to}")
    if from_ < least or to > end:
        raise ValueError(f"dtype {out.dtype.name} does not hold every whole number from {from_} to {to - 1}")
    return _fill(out, _generator().integers(from_, to, out.shape))


def truncated_normal(chances: np.ndarray, mean: float, std: float, low: float, high: float) -> np.ndarray:
    """Return normal numbers between ``low`` and ``high``: the quantiles of this distribution at ``chances`` (0 to 1).

    Raises:
        ValueError: if ``std`` is not above 0.
    """
    if not std > 0:
        raise ValueError(f"the standard deviation of a truncated normal distribution must be above 0, not {std}")
    from statistics import NormalDist  # imported here, because it takes half a megabyte

    standard = NormalDist()
    first, last = (standard.cdf((bound - mean) / std) for bound in (low, high))
    shares = np.clip(first + (last - first) * chances.astype(np.float64), 1e-300, 1 - 1e-16)
    drawn = np.array([standard.inv_cdf(share) for share in shares.reshape(-1).tolist()], np.float64)
    return np.clip(mean + std * drawn.reshape(chances.shape), low, high)
