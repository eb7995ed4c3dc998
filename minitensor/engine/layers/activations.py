"""Activation functions that call other operations, and therefore need no derivatives of their own."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from minitensor.engine import checks
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.creation.drawing import bernoulli
from minitensor.engine.creation.making import full_like
from minitensor.engine.device.arrays import broadcast_shapes
from minitensor.engine.layers.custom_operation import floats_of
from minitensor.engine.modes import modes
from minitensor.engine.operations import FUNCTIONS
from minitensor.engine.operations.arguments import as_axis
from minitensor.engine.operations.operands import check_target
from minitensor.engine.views.reshaping import squeeze


def silu(x: Tensor, inplace: bool = False, name: str | None = None) -> Tensor:
    """Return ``x * sigmoid(x)`` (Elfwing, Uchibe and Doya 2017).

    Args:
        x: floats, of any shape; the result has its shape and dtype.
        inplace: overwrite ``x`` and return it. If a gradient is required, this saves no memory, because the gradient
            needs the input, which is copied first.

    Raises:
        TypeError: if ``x`` is not a tensor of floats.
        ValueError: with ``inplace``, for a leaf that requires a gradient, or a view of one, in grad mode.
    """
    inplace = checks.flag("silu", "inplace", inplace)
    (x,) = floats_of("silu", x=x)
    if not inplace:
        return FUNCTIONS["multiply"](x, FUNCTIONS["sigmoid"](x))
    copy = x if x.stop_gradient or not modes.grad else x.clone()
    return x.copy_(FUNCTIONS["multiply"](copy, FUNCTIONS["sigmoid"](copy)))


def gelu(x: Tensor, approximate: bool = False, name: str | None = None) -> Tensor:
    """Return ``x`` times the probability that a standard normal number is below ``x`` (Hendrycks and Gimpel 2016).

    Args:
        x: floats, of any shape; the result has its shape and dtype.
        approximate: use tanh, as in the paper, instead of the error function.

    Raises:
        TypeError: if ``x`` is not a tensor of floats.
    """
    approximate = checks.flag("gelu", "approximate", approximate)
    (x,) = floats_of("gelu", x=x)
    if approximate:
        inner = FUNCTIONS["tanh"]((x + x * x * x * 0.044715) * math.sqrt(2 / math.pi))
    else:
        inner = FUNCTIONS["erf"](x * math.sqrt(0.5))
    return x * 0.5 * (inner + 1.0)


_ANY_SHAPE = """
    Args:
        x: floats, of any shape; the result has its shape and dtype.

    Raises:
        TypeError: if ``x`` is not a tensor of floats.
"""


def softplus(x: Tensor, beta: float = 1.0, threshold: float = 20.0, name: str | None = None) -> Tensor:
    """Return ``log(1 + exp(beta * x)) / beta`` (``beta > 0``), or ``x`` where ``beta * x`` is above ``threshold``."""
    (x,) = floats_of("softplus", x=x)
    beta, threshold = checks.real("softplus", "beta", beta, above=0), checks.real("softplus", "threshold", threshold)
    scaled = FUNCTIONS["multiply"](x, float(beta))
    large = FUNCTIONS["greater_than"](scaled, float(threshold))
    small = FUNCTIONS["where"](large, 0.0, scaled)
    return FUNCTIONS["where"](large, x, -FUNCTIONS["log_sigmoid"](-small) / float(beta))


def softsign(x: Tensor, name: str | None = None) -> Tensor:
    """Return ``x / (1 + abs(x))``."""
    (x,) = floats_of("softsign", x=x)
    return FUNCTIONS["divide"](x, FUNCTIONS["add"](FUNCTIONS["abs"](x), 1.0))


def mish(x: Tensor, name: str | None = None) -> Tensor:
    """Return ``x * tanh(softplus(x))`` (Misra 2019)."""
    (x,) = floats_of("mish", x=x)
    return FUNCTIONS["multiply"](x, FUNCTIONS["tanh"](softplus(x)))


#: With these constants, `selu` maps numbers of mean 0 and variance 1 to numbers of the same mean and variance.
SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772


def selu(x: Tensor, scale: float = SELU_SCALE, alpha: float = SELU_ALPHA, name: str | None = None) -> Tensor:
    """Return ``scale * (x if x > 0 else alpha * (exp(x) - 1))``, for ``alpha >= 0`` (Klambauer et al. 2017)."""
    (x,) = floats_of("selu", x=x)
    scale, alpha = checks.real("selu", "scale", scale), checks.real("selu", "alpha", alpha, least=0)
    return FUNCTIONS["multiply"](FUNCTIONS["elu"](x, float(alpha)), float(scale))


def hardsigmoid(x: Tensor, slope: float = 1 / 6, offset: float = 0.5, name: str | None = None) -> Tensor:
    """Return ``slope * x + offset``, clipped to the range from 0 to 1."""
    (x,) = floats_of("hardsigmoid", x=x)
    slope, offset = checks.real("hardsigmoid", "slope", slope), checks.real("hardsigmoid", "offset", offset)
    line = FUNCTIONS["add"](FUNCTIONS["multiply"](x, float(slope)), float(offset))
    return FUNCTIONS["hardtanh"](line, 0.0, 1.0)


def hardswish(x: Tensor, name: str | None = None) -> Tensor:
    """Return ``x * min(max(x + 3, 0), 6) / 6`` (Howard and others 2019)."""
    (x,) = floats_of("hardswish", x=x)
    return FUNCTIONS["multiply"](x, FUNCTIONS["relu6"](FUNCTIONS["add"](x, 3.0))) * (1 / 6)


def swish(x: Tensor, name: str | None = None) -> Tensor:
    """Return ``x * sigmoid(x)``: another name of :func:`silu`."""
    (x,) = floats_of("swish", x=x)
    return silu(x)


for _function in (softplus, softsign, mish, selu, hardsigmoid, hardswish, swish):
    _function.__doc__ = f"{_function.__doc__}\n{_ANY_SHAPE}"


def normalize(x: Tensor, p: float = 2, axis: int = 1, epsilon: float = 1e-12, name: str | None = None) -> Tensor:
    """Return ``x`` divided by its p-norm along ``axis``, or by ``epsilon`` if the norm is smaller.

    Args:
        x: floats; the result has its shape and dtype.

    Raises:
        TypeError: if ``x`` is not a tensor of floats.
        IndexError: if ``x`` does not have that axis.
    """
    (x,) = floats_of("normalize", x=x)
    p, epsilon = checks.real("normalize", "p", p), checks.real("normalize", "epsilon", epsilon)
    length = norm_along(x, float(p), as_axis("normalize", axis, x._array.ndim))
    return FUNCTIONS["divide"](x, FUNCTIONS["maximum"](float(epsilon), length))


def norm_along(x: Tensor, p: float, axis: int) -> Tensor:
    """Return the p-norm along ``axis``, which stays a dimension of size 1. Where the norm is 0, its gradient is 0."""
    size = FUNCTIONS["abs"](x)
    if p in (math.inf, -math.inf):
        return FUNCTIONS["max" if p > 0 else "min"](size, axis, True)
    if p == 0:
        return FUNCTIONS["sum"](FUNCTIONS["sign"](size), axis, True)
    if p == 1:
        return FUNCTIONS["sum"](size, axis, True)
    total = FUNCTIONS["sum"](FUNCTIONS["square"](x) if p == 2 else powers(FUNCTIONS, size, p), axis, True)
    is_zero = Tensor._made(total._array == 0)
    nonzero = FUNCTIONS["where"](is_zero, 1.0, total)
    root = FUNCTIONS["sqrt"](nonzero) if p == 2 else FUNCTIONS["pow"](nonzero, 1.0 / p)
    return FUNCTIONS["where"](is_zero, 0.0, root)


def powers(functions: Mapping[str, Callable[..., Any]], size: Tensor, p: float) -> Tensor:
    """Return ``size ** p`` for ``size`` of 0 or more. At 0, the first and second derivatives are 0 for every ``p``.

    Args:
        functions: the operations "where" and "pow" of a vocabulary, by their names.
    """
    is_zero = Tensor._made(size._array == 0)
    at_zero = 0.0 if p > 0 else math.inf
    return functions["where"](is_zero, at_zero, functions["pow"](functions["where"](is_zero, 1.0, size), p))


def cosine_similarity(x1: Tensor, x2: Tensor, axis: int = 1, eps: float = 1e-8) -> Tensor:
    """Return the cosine of the angle between vectors along ``axis``: their dot product divided by both norms.

    Args:
        x1, x2: tensors of floats, whose shapes are broadcast against each other.
        eps: the smallest divisor. It replaces the product of both norms if this product is smaller.

    Returns:
        A tensor of the broadcast shape without ``axis``.

    Raises:
        ValueError: if the shapes cannot be broadcast.
        TypeError: if an argument is not a tensor of floats.
        IndexError: if there is no such axis.
    """
    return _cosine(x1, x2, axis, eps, False)


def cosine_of_bounded_norms(x1: Tensor, x2: Tensor, axis: int, eps: float) -> Tensor:
    """Return :func:`cosine_similarity` with ``eps`` as the smallest norm of each vector, as PyTorch defines it."""
    return _cosine(x1, x2, axis, eps, True)


def _cosine(x1: Tensor, x2: Tensor, axis: int, eps: float, bounds_each: bool) -> Tensor:
    """Divide the dot product by the product of the norms. ``eps`` bounds each norm, or only their product."""
    x1, x2 = floats_of("cosine_similarity", x1=x1, x2=x2)
    eps = checks.real("cosine_similarity", "eps", eps)
    ndim = max(1, x1._array.ndim, x2._array.ndim)
    axis = as_axis("cosine_similarity", axis, ndim)
    try:
        broadcast_shapes(x1._array.shape, x2._array.shape)
    except ValueError:
        raise ValueError(f"cosine_similarity: the shapes {x1.shape} and {x2.shape} cannot be broadcast") from None
    x1, x2 = (x if x._array.ndim == ndim else x[(None,) * (ndim - x._array.ndim)] for x in (x1, x2))
    product = FUNCTIONS["sum"](FUNCTIONS["multiply"](x1, x2), axis)
    if not bounds_each:
        squares = [FUNCTIONS["sum"](FUNCTIONS["square"](x), axis) for x in (x1, x2)]
        return FUNCTIONS["divide"](product, FUNCTIONS["sqrt"](FUNCTIONS["clip"](squares[0] * squares[1], eps * eps)))
    lengths = []
    for x in (x1, x2):
        length = norm_along(x, 2.0, as_axis("cosine_similarity", axis, x._array.ndim))
        lengths.append(squeeze(FUNCTIONS["maximum"](float(eps), length), axis))
    return FUNCTIONS["divide"](product, FUNCTIONS["multiply"](*lengths))


def log_softmax(x: Tensor, axis: int = -1, name: str | None = None) -> Tensor:
    """Return the logarithm of softmax along ``axis``, without overflow in between.

    Args:
        x: floats, of any shape; the result has its shape and dtype.

    Raises:
        TypeError: if ``x`` is not a tensor of floats, or ``axis`` is not an integer.
        IndexError: if ``x`` does not have that axis.
    """
    (x,) = floats_of("log_softmax", x=x)
    axis = as_axis("log_softmax", axis, max(x.ndim, 1))
    # Slices without elements have no maximum. Their sum, 0, replaces it; no result depends on it.
    highest = FUNCTIONS["max" if x.size else "sum"](x.detach(), axis, True)
    shifted = FUNCTIONS["subtract"](x, highest)
    return shifted - FUNCTIONS["log"](FUNCTIONS["sum"](FUNCTIONS["exp"](shifted), axis, True))


def dropout(x: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False, name: str | None = None) -> Tensor:
    """Set elements to 0 with probability ``p``, and divide the others by ``1 - p`` (Srivastava and others 2014).

    Args:
        x: floats, of any shape; the result has its shape and dtype.
        training: if False, return a copy of ``x``, as Paddle does, or ``x`` itself if ``inplace`` is true. If ``p`` is
            0, the result is always ``x`` itself.
        inplace: overwrite ``x`` and return it.

    Raises:
        ValueError: if ``p`` is not a probability; with ``inplace``, for a leaf that requires a gradient, or a view of
            one, in grad mode.
        TypeError: if ``x`` is not a tensor of floats, or ``p`` is not a number.
    """
    inplace = checks.flag("dropout", "inplace", inplace)
    out = _dropped("dropout", x, p, training, inplace)
    return FUNCTIONS["scale"](out, 1.0) if out is x and p and not inplace else out


def dropout2d(
    x: Tensor, p: float = 0.5, training: bool = True, data_format: str = "NCHW", name: str | None = None
) -> Tensor:
    """Set whole channels to 0 with probability ``p`` in training, and divide the others by ``1 - p``.

    One random number decides about each channel of an image, so the mask has only one element for the channel (Tompson
    and others 2015). Without ``training``, or if ``p`` is 0, return ``x``.

    Args:
        x: images, as floats of shape [images, channels, height, width]; the result has its shape and dtype.
        data_format: "NCHW", or "NHWC" if the channels are the last dimension.

    Raises:
        ValueError: if ``p`` is not a probability, ``data_format`` is unknown, or ``x`` does not have four dimensions.
        TypeError: if ``x`` is not a tensor of floats, or ``p`` is not a number.
    """
    checks.choice("dropout2d", "data_format", data_format, ("NCHW", "NHWC"))
    (x,) = floats_of("dropout2d", x=x)
    if x.ndim != 4:
        raise ValueError(f"dropout2d: x must have four dimensions, but its shape is {x.shape}")
    one, every = slice(1), slice(None)
    part = (every, every, one, one) if data_format == "NCHW" else (every, one, one, every)
    return _dropped("dropout2d", x, p, training, False, part)


def _dropped(op: str, x: Tensor, p: float, training: bool, inplace: bool, part: tuple[slice, ...] = ()) -> Tensor:
    """Drop elements of ``x``; with ``part``, one random number for each element of ``x[part]`` decides."""
    p = checks.probability(op, "p", p)
    training = checks.flag(op, "training", training)
    (x,) = floats_of(op, x=x)
    if not training or p == 0:
        return x
    if inplace and modes.grad and not x.stop_gradient:  # raise errors before random numbers are drawn
        check_target(x, "multiply_")
    decided = x.detach()[part] if part else x.detach()
    is_kept = bernoulli(full_like(decided, 1.0 - p))
    mask = FUNCTIONS["scale_"](is_kept, 1.0 / (1.0 - p)) if p < 1 else is_kept
    return FUNCTIONS["multiply_" if inplace else "multiply"](x, mask)
