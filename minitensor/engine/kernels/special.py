"""Forward functions from scipy, which is imported when the first of them is called.

scipy (the extra ``special``) can be installed wherever numpy can. Except for ``zeta``, the functions that this module
uses are ufuncs for float32 and float64, so they accept ``out`` and GPU arrays as numpy's ufuncs do. Section numbers
refer to the Digital Library of Mathematical Functions of the NIST (DLMF), https://dlmf.nist.gov.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minitensor.engine.device.arrays import as_array, gpu_of, host_array, like
from minitensor.engine.kernels.functions import floating
from minitensor.engine.kernels.numbers import number

Array = np.ndarray


@functools.cache
def _scipy(op: str, name: str) -> Callable[..., Array]:
    """Return the function ``name`` of scipy.special for the operation ``op``; raise ImportError without scipy."""
    try:
        from scipy import special
    except ImportError as missing:
        raise ImportError(
            f"{op} needs scipy, which is not installed: pip install scipy (in a browser it is not available)"
        ) from missing
    return getattr(special, name)


def _zeta(s: float, a: Array, out: Array | None = None) -> Array:
    """The Hurwitz zeta function. In scipy it is not a ufunc, so it cannot be called with GPU arrays."""
    gpu = gpu_of(a)
    zeta = _scipy("polygamma", "zeta")
    return (zeta if gpu is None else gpu.special("zeta"))(s, a, out=out)


def _order(op: str, name: str, given: Any, least: int) -> int:
    n = number(op, name, given)
    if not isinstance(n, int) or n < least:
        raise ValueError(f"{op}: {name} must be an integer, {least} or above, not {n}")
    return n


def erf(a: Array, out: Array | None = None) -> Array:
    """The error function: 2 / sqrt(pi) times the integral of exp(-t * t) from 0 to ``a`` (DLMF 7.2)."""
    return _scipy("erf", "erf")(a, out=out)


def erfinv(a: Array, out: Array | None = None) -> Array:
    """The number whose error function is ``a``; nan if ``a`` is outside the range from -1 to 1 (DLMF 7.17)."""
    sign = np.signbit(a) & (a == 0)  # scipy returns 0.0 for erfinv(-0.0)
    found = as_array(_scipy("erfinv", "erfinv")(a, out=out))
    if type(found) is not np.ndarray or sign.any():  # `any` would wait for a GPU
        np.copyto(found, -0.0, where=sign)
    return found


# ---------- the gamma function and its derivatives ----------


def lgamma(a: Array, out: Array | None = None) -> Array:
    """The logarithm of the absolute value of the gamma function (DLMF 5.2)."""
    lowest = as_array(a == -math.inf)
    found = as_array(_scipy("lgamma", "gammaln")(a, out=out))
    if type(found) is not np.ndarray or lowest.any():  # `any` would wait for a GPU
        np.copyto(found, math.inf, where=lowest)  # scipy returns -inf, and C returns inf
    return found


def digamma(a: Array, out: Array | None = None) -> Array:
    """The slope of the logarithm of the gamma function (DLMF 5.2)."""
    return _scipy("digamma", "psi")(a, out=out)


def polygamma_arguments(n: Any) -> tuple[Any, ...]:
    """Check an integer that is not negative."""
    return (_order("polygamma", "n", n, 0),)


def polygamma(a: Array, n: int, out: Array | None = None) -> Array:
    """The n-th derivative of digamma: ``(-1) ** (n + 1) * n! * zeta(n + 1, a)``, with Hurwitz' zeta (DLMF 25.11)."""
    if n == 0:
        return digamma(a, out)
    a = floating(a, out)
    far_below = a < -20
    if far_below.any():
        # For a negative element, scipy adds one term for every integer up to 0, which takes 5 s for -1e8.
        mirrored = polygamma(np.where(far_below, 1 - a, a), n)
        return np.positive(np.where(far_below, _reflect(a, n, mirrored), mirrored), out=out)
    if n == 1:
        return _zeta(2.0, a, out)
    # The product is computed by logarithms, because one factor may overflow and the other underflow.
    with np.errstate(all="ignore"):
        values = _zeta(n + 1.0, a.astype(np.float64))
        size = np.exp(math.lgamma(n + 1) + np.log(np.abs(values)))
        return np.positive((np.copysign(size, values) * (-1) ** (n + 1)).astype(a.dtype), out=out)


def _reflect(a: Array, n: int, mirrored: Array) -> Array:
    """Return polygamma of ``a`` by the reflection formula; ``mirrored`` is polygamma of ``1 - a`` (DLMF 5.15).

    Up to signs, the two values of polygamma differ by the n-th derivative of ``pi / tan(pi a)``. The derivative of
    ``c = 1 / tan(pi a)`` is ``-pi (1 + c * c)``, so each further derivative is a polynomial in c.
    """
    polynomial = np.polynomial.Polynomial([0.0, math.pi])
    for _ in range(n):
        polynomial = polynomial.deriv() * np.polynomial.Polynomial([-math.pi, 0.0, -math.pi])
    with np.errstate(all="ignore"):
        a = a.astype(np.float64)
        c = 1 / np.tan(math.pi * (a - np.rint(a)))
        *lower, highest = polynomial.coef.tolist()
        value = c * 0.0 + highest
        for coefficient in reversed(lower):
            value = value * c + coefficient
        derivative = np.where(np.isinf(c), math.inf * (-1) ** n, value)
        return ((-1) ** n * mirrored - derivative).astype(mirrored.dtype)


#: The largest allowed dimension of the multivariate gamma function.
MOST_DIMENSIONS = 10_000


def multigammaln_arguments(p: Any) -> tuple[Any, ...]:
    """Check a positive integer."""
    order = _order("multigammaln", "p", p, 1)
    if order > MOST_DIMENSIONS:
        raise ValueError(f"multigammaln: p, the number of terms, must be at most {MOST_DIMENSIONS:,}, not {order}")
    return (order,)


def multigammaln(a: Array, p: int, out: Array | None = None) -> Array:
    """The logarithm of the gamma function in p dimensions (DLMF 35.3)."""
    a = floating(a, out)
    with np.errstate(all="ignore"):
        total = lgamma(a)
        for i in range(1, p):
            total = total + lgamma(a - i / 2)
        return np.add(total, p * (p - 1) / 4 * math.log(math.pi), out=out)


def multipolygamma(a: Array, n: int, p: int) -> Array:
    """The (n + 1)-th derivative of ``multigammaln``."""
    with np.errstate(all="ignore"):
        total = polygamma(a, n)
        for i in range(1, p):
            total = total + polygamma(a - i / 2, n)
        return total


def gammainc(a: Array, b: Array, out: Array | None = None) -> Array:
    """The integral that defines gamma of ``a``, from 0 to ``b``, as a share of the whole integral (DLMF 8.2)."""
    return _scipy("gammainc", "gammainc")(a, b, out=out)


def gammaincc(a: Array, b: Array, out: Array | None = None) -> Array:
    """The integral that defines gamma of ``a``, from ``b`` to infinity, as a share of the whole integral (DLMF 8.2)."""
    return _scipy("gammaincc", "gammaincc")(a, b, out=out)


def gamma_density(a: Array, b: Array) -> Array:
    """The slope of ``gammainc`` along ``b``: ``b ** (a - 1) * exp(-b) / gamma(a)`` (DLMF 8.8)."""
    dtype = floating(a).dtype
    a, b = a.astype(np.float64), b.astype(np.float64)  # the three terms nearly cancel, which loses digits in float32
    with np.errstate(all="ignore"):
        power = _scipy("gammainc", "xlogy")(a - 1, b)
        return np.exp(power - b - lgamma(a)[()]).astype(dtype)  # [()] makes a scalar of an array without dimensions


# ---------- Bessel functions ----------


def i0(a: Array, out: Array | None = None) -> Array:
    """The modified Bessel function of the first kind, of order 0 (DLMF 10.25)."""
    return _scipy("i0", "i0")(a, out=out)


def bessel_i(a: Array, n: int) -> Array:
    """The modified Bessel function of the first kind, of integer order ``n`` (DLMF 10.25)."""
    n = abs(n)
    if n < 2:
        return _scipy("i0", f"i{n}")(a)
    # CuPy has no orders above 1, so they are computed on the host.
    return like(_scipy("i0", "iv")(float(n), host_array(a)), a)
