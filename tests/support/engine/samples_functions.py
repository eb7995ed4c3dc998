"""Samples of elementwise functions, rounding, integers, activations, scans and scipy's functions.

The references for the gamma and Bessel functions are series. All others use Python's ``math``, sums and loops.
"""

from __future__ import annotations

import importlib.util
import math
import statistics
from collections.abc import Callable

import numpy as np

from tests.support.engine.samples import ANY, OTHER, POSITIVE, each, pairs, sample

INSIDE = np.array([[-0.9, -0.35, 0.1], [0.2, 0.55, 0.8]])  # between -1 and 1
SHARE = np.array([[0.05, 0.2, 0.35], [0.5, 0.7, 0.9]])  # between 0 and 1
ABOVE = np.array([[1.1, 1.4, 2.0], [2.6, 3.3, 5.2]])  # above 1
WHOLE, DIVISORS = np.array([[6, -4, 9], [12, 5, 0]]), np.array([[4, 6, -3], [8, 10, 7]])
SPECIAL = np.array([[math.nan, 1.5, math.inf], [-math.inf, -0.0, 2.0]])


def layouts(x: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the matrix and views of it: numpy iterates each of these shapes and memory orders in a different way."""
    return x, x.T, x[1, 2], x[:, :0], x[::-1, ::2]


# ---------- one operand ----------

UNARY: dict[str, tuple[Callable[[float], float], np.ndarray]] = {
    "expm1": (math.expm1, ANY),
    "exp2": (lambda v: 2.0**v, ANY),
    "log2": (math.log2, POSITIVE),
    "log10": (math.log10, POSITIVE),
    "log1p": (math.log1p, INSIDE),
    "logit": (lambda v: math.log(v / (1 - v)), SHARE),
    "tan": (math.tan, ANY),
    "asin": (math.asin, INSIDE),
    "acos": (math.acos, INSIDE),
    "atan": (math.atan, ANY),
    "sinh": (math.sinh, ANY),
    "cosh": (math.cosh, ANY),
    "asinh": (math.asinh, ANY),
    "acosh": (math.acosh, ABOVE),
    "atanh": (math.atanh, INSIDE),
    "sinc": (lambda v: math.sin(math.pi * v) / (math.pi * v), ANY),
    "ceil": (math.ceil, ANY),
    "floor": (math.floor, ANY),
    "trunc": (math.trunc, ANY),
    "frac": (lambda v: v - math.trunc(v), ANY),
    "nan_to_num": (lambda v: v, ANY),
    "elu": (lambda v: v if v > 0 else math.exp(v) - 1, ANY),
    "leaky_relu": (lambda v: v if v > 0 else 0.01 * v, ANY),
    "log_sigmoid": (lambda v: -math.log1p(math.exp(-v)), ANY),
    "relu6": (lambda v: min(max(v, 0), 6), ANY * 4),
    "hardtanh": (lambda v: min(max(v, -1), 1), ANY),
    "thresholded_relu": (lambda v: v if v > 1 else 0, ANY),
}
for _name, (_function, _array) in UNARY.items():
    for _shaped in layouts(_array):
        sample(_name, each(_function), _shaped)

sample("logit", each(lambda v: math.log(min(max(v, 0.25), 0.75) / (1 - min(max(v, 0.25), 0.75)))), SHARE, eps=0.25)
sample("sinc", each(lambda v: 1 - (math.pi * v) ** 2 / 6 + (math.pi * v) ** 4 / 120), np.array([1e-9, -1e-4, 3e-3]))
sample("round", each(lambda v: math.copysign(math.floor(abs(v) * 10 + 0.5) / 10, v)), ANY * 1.03, decimals=1)
sample("round", each(lambda v: math.copysign(math.floor(abs(v) / 10 + 0.5) * 10, v)), ANY * 31, decimals=-1)
sample("elu", each(lambda v: v if v > 0 else 0.4 * (math.exp(v) - 1)), ANY, alpha=0.4)
sample("elu", each(lambda v: max(v, 0)), ANY, alpha=0.0)
sample("leaky_relu", each(lambda v: v if v > 0 else 1.5 * v), ANY, negative_slope=1.5)
sample("leaky_relu", each(lambda v: max(v, 0)), ANY, negative_slope=0)
sample("hardtanh", each(lambda v: min(max(v, -0.5), 2)), ANY, min=-0.5, max=2.0)
sample("thresholded_relu", each(lambda v: v if v > -1 else 7), ANY, threshold=-1.0, value=7.0)
for _name, _test in {
    "signbit": lambda v: math.copysign(1, v) < 0,
    "isnan": math.isnan,
    "isinf": math.isinf,
    "isfinite": math.isfinite,
}.items():
    sample(_name, each(_test), SPECIAL)

# ---------- two operands and three ----------

BINARY: dict[str, tuple[Callable[[np.ndarray, np.ndarray], np.ndarray], np.ndarray, np.ndarray]] = {
    "hypot": (lambda x, y: np.sqrt(x * x + y * y), ANY, OTHER),
    "atan2": (np.vectorize(math.atan2, otypes=[float]), ANY, OTHER),
    "fmax": (lambda x, y: np.where(x >= y, x, y), ANY, OTHER),
    "fmin": (lambda x, y: np.where(x <= y, x, y), ANY, OTHER),
    "fmod": (lambda x, y: x - y * np.trunc(x / y), ANY, OTHER),
    "heaviside": (lambda x, y: np.where(x == 0, y, x > 0), ANY, OTHER),
    "copysign": (lambda x, y: np.abs(x) * np.sign(y), ANY, OTHER),
    "ldexp": (lambda x, y: x * 2.0**y, ANY, OTHER),
    "xlogy": (lambda x, y: x * np.log(y), ANY, POSITIVE),
    "floor_divide": (lambda x, y: np.floor(x / y), ANY, OTHER),
    "trunc_divide": (lambda x, y: np.trunc(x / y), ANY, OTHER),
    "remainder": (lambda x, y: x - y * np.floor(x / y), ANY, OTHER),
}
for _name, (_both, _x, _y) in BINARY.items():
    for _left, _right in pairs(_x, _y):
        sample(_name, _both, _left, _right)


def between(x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return (1 - weight) * x + weight * y


for _weight in (SHARE, SHARE[0], 0.25, 0.0, 1.5):
    sample("lerp", between, ANY, OTHER, _weight)
sample("lerp", between, ANY[0], OTHER, SHARE[:, :1])

for _left, _right in ((WHOLE, DIVISORS), (WHOLE, DIVISORS[0]), (WHOLE, 6), (WHOLE[0], DIVISORS), (WHOLE[:, :0], 3)):
    sample("gcd", np.vectorize(math.gcd, otypes=[np.int64]), _left, _right)
    sample("lcm", np.vectorize(math.lcm, otypes=[np.int64]), _left, _right)

# ---------- along an axis ----------


def scan_of(combine: Callable[[np.ndarray], np.ndarray], axis: int, reverse: bool = False) -> Callable[..., np.ndarray]:
    """Return a function that combines each element along ``axis`` with all elements before it, or with all after it."""

    def scan(x: np.ndarray) -> np.ndarray:
        rows = np.moveaxis(x, axis, 0)
        parts = [combine(rows[i:] if reverse else rows[: i + 1]) for i in range(len(rows))]
        return np.moveaxis(np.array(parts).reshape(rows.shape), 0, axis)

    return scan


def total(x: np.ndarray) -> np.ndarray:
    return x.sum(axis=0)


def product(x: np.ndarray) -> np.ndarray:
    return x.prod(axis=0)


BLOCK = np.stack([ANY, OTHER, POSITIVE, INSIDE])
ZEROS = np.array([[2.0, 0.0, 3.0, 0.0, 1.5], [0.0, -1.2, 0.7, 2.0, 0.4], [1.5, 0.5, -2.0, 0.0, 3.0]])
for _axis in (1, 0, -1):
    for _array in (ANY, BLOCK, ANY.T, ANY[:, :0], ANY[:, :1]):
        sample("cumsum", scan_of(total, _axis), _array, axis=_axis)
        sample("cumsum_reversed", scan_of(total, _axis, reverse=True), _array, axis=_axis)
        sample("cumprod", scan_of(product, _axis), _array, dim=_axis)
        sample("softmax", lambda x, a=_axis: np.exp(x) / np.exp(x).sum(axis=a, keepdims=True), _array, axis=_axis)
    sample("cumprod", scan_of(product, _axis), ZEROS, dim=_axis)
sample("softmax", lambda x: np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True), BLOCK)
sample("cumsum", lambda x: scan_of(total, 0)(x.ravel()), BLOCK)
sample("cumprod", lambda x: scan_of(product, 0)(x.ravel()), BLOCK[:2])
sample("cumsum", scan_of(total, 0), ANY[0])
sample("cumprod", scan_of(product, 0), ZEROS[0])
for _name, _argument in {"cumsum": "axis", "cumsum_reversed": "axis", "cumprod": "dim"}.items():
    sample(_name, lambda x: x, np.array(1.5), **{_argument: 0})
sample("softmax", np.ones_like, np.array(1.5))

# ---------- functions of scipy ----------

#: The operands for which minitensor refuses to compute a gradient: see test_functions.py.
REFUSED = {"gammainc": ("x",), "gammaincc": ("x",)}


def inverse_of_erf(v: float) -> float:
    """Return the inverse of erf by the normal distribution and one step of Newton's method."""
    guess = statistics.NormalDist().inv_cdf((v + 1) / 2) / math.sqrt(2)
    return guess - (math.erf(guess) - v) * math.sqrt(math.pi) / 2 * math.exp(guess * guess)


def polygamma(n: int, v: float) -> float:
    """Return the sum of ``(-1) ** (n + 1) * n! / (v + k) ** (n + 1)``. The Euler-Maclaurin formula gives its tail."""
    start, count = v, 30
    terms = [1 / (start + k) ** (n + 1) for k in range(count)]
    end = start + count
    if n == 0:
        tail = math.log(end) - 1 / (2 * end) - 1 / (12 * end**2) + 1 / (120 * end**4) - 1 / (252 * end**6)
        return tail - math.fsum(terms)
    tail = 1 / (n * end**n) + 1 / (2 * end ** (n + 1)) + (n + 1) / (12 * end ** (n + 2))
    tail -= (n + 1) * (n + 2) * (n + 3) / (720 * end ** (n + 4))
    tail += math.prod(range(n + 1, n + 6)) / (30240 * end ** (n + 6))
    return (-1) ** (n + 1) * math.factorial(n) * (math.fsum(terms) + tail)


def bessel(n: int, v: float) -> float:
    """Return the modified Bessel function by its power series."""
    n = abs(n)
    return math.fsum((v / 2) ** (2 * k + n) / (math.factorial(k) * math.factorial(k + n)) for k in range(40))


def lower_share(a: float, b: float) -> float:
    """Return the lower incomplete gamma function divided by the gamma function, by its power series."""
    return math.fsum(b ** (a + k) * math.exp(-b) / math.gamma(a + k + 1) for k in range(80))


def of_two(function: Callable[[float, float], float]) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Return a reference that applies a function of two numbers to every pair of elements."""
    return np.vectorize(function, otypes=[np.float64])


def _scipy_samples() -> None:
    unary: dict[str, tuple[Callable[[float], float], np.ndarray]] = {
        "erf": (math.erf, ANY),
        "erfinv": (inverse_of_erf, INSIDE),
        "lgamma": (math.lgamma, POSITIVE + 0.05),
        "digamma": (lambda v: polygamma(0, v), POSITIVE),
        "i0": (lambda v: bessel(0, v), ANY),
    }
    for name, (function, array) in unary.items():
        for shaped in layouts(array):
            sample(name, each(function), shaped)
    for n in (1, 0, 2, 5):
        sample("polygamma", each(lambda v, n=n: polygamma(n, v)), POSITIVE + n / 4, n=n)
        sample("bessel_i", each(lambda v, n=n: bessel(n, v)), ANY, n=n)
    for p in (2, 1, 4):
        constant = p * (p - 1) / 4 * math.log(math.pi)
        log = each(lambda v, p=p, c=constant: c + math.fsum(math.lgamma(v - j / 2) for j in range(p)))
        slope = each(lambda v, p=p: math.fsum(polygamma(0, v - j / 2) for j in range(p)))
        sample("multigammaln", log, ABOVE + 1, p=p)
        sample("multipolygamma", slope, ABOVE + 1, n=0, p=p)
    density = of_two(lambda a, b: b ** (a - 1) * math.exp(-b) / math.gamma(a))
    for left, right in ((POSITIVE, ABOVE), (POSITIVE, ABOVE[0]), (POSITIVE, 2.5), (POSITIVE[0], ABOVE)):
        sample("gammainc", of_two(lower_share), left, right)
        sample("gammaincc", of_two(lambda a, b: 1 - lower_share(a, b)), left, right)
        sample("gamma_density", density, left, right)


if importlib.util.find_spec("scipy"):
    _scipy_samples()
