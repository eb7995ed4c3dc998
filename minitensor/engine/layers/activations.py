"""Activation functions made of operations of the table."""

from __future__ import annotations

import math
from typing import Any

from minitensor.engine import checks
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.creation.drawing import bernoulli
from minitensor.engine.creation.making import full_like
from minitensor.engine.layers.custom_operation import floats_of
from minitensor.engine.modes import modes
from minitensor.engine.operations import FUNCTIONS
from minitensor.engine.operations.arguments import as_axis


def silu(x: Tensor, inplace: bool = False, name: str | None = None) -> Tensor:
    """Return ``x * sigmoid(x)`` (Elfwing, Uchibe and Doya 2017).

    Args:
        x: float32 or float64, of any shape; the result has its shape and dtype.
        inplace: overwrite ``x`` and return it. The gradient needs the input, so the input is copied first if a gradient
            is wanted, which saves no memory.

    Raises:
        TypeError: if ``x`` is not a tensor of floats.
        ValueError: with ``inplace``, for a leaf that wants a gradient, in grad mode.
    """
    inplace = checks.flag("silu", "inplace", inplace)
    (x,) = floats_of("silu", x=x)  # type: ignore[assignment]  # one result per argument
    if not inplace:
        return FUNCTIONS["multiply"](x, FUNCTIONS["sigmoid"](x))
    kept = x if x.stop_gradient or not modes.grad else x.clone()
    return x.copy_(FUNCTIONS["multiply"](kept, FUNCTIONS["sigmoid"](kept)))


def gelu(x: Tensor, approximate: bool = False, name: str | None = None) -> Tensor:
    """Return ``x`` times the probability that a standard normal number is below ``x`` (Hendrycks and Gimpel 2016).

    Args:
        x: float32 or float64, of any shape; the result has its shape and dtype.
        approximate: use tanh, as in the paper, instead of the error function.

    Raises:
        TypeError: if ``x`` is not a tensor of floats.
    """
    approximate = checks.flag("gelu", "approximate", approximate)
    (x,) = floats_of("gelu", x=x)  # type: ignore[assignment]  # one result per argument
    a: Any = x
    if approximate:
        inner = FUNCTIONS["tanh"]((a + a * a * a * 0.044715) * math.sqrt(2 / math.pi))
    else:
        inner = FUNCTIONS["erf"](a * math.sqrt(0.5))
    return a * 0.5 * (inner + 1.0)


def log_softmax(x: Tensor, axis: int = -1, name: str | None = None) -> Tensor:
    """Return the logarithm of softmax along ``axis``, without overflow in between.

    Args:
        x: float32 or float64, of any shape; the result has its shape and dtype.

    Raises:
        TypeError: if ``x`` is not a tensor of floats, or ``axis`` is not an integer.
        IndexError: if ``x`` does not have that axis.
    """
    (x,) = floats_of("log_softmax", x=x)  # type: ignore[assignment]  # one result per argument
    axis = as_axis("log_softmax", axis, x.ndim)
    shifted: Any = FUNCTIONS["subtract"](x, FUNCTIONS["max"](x.detach(), axis, True))
    return shifted - FUNCTIONS["log"](FUNCTIONS["sum"](FUNCTIONS["exp"](shifted), axis, True))


def dropout(x: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False, name: str | None = None) -> Tensor:
    """In training, set elements to 0 with probability ``p`` and divide the others by ``1 - p``; otherwise return ``x``
    (Srivastava and others 2014).

    Args:
        x: float32 or float64, of any shape; the result has its shape and dtype.
        inplace: overwrite ``x`` and return it.

    Raises:
        ValueError: if ``p`` is not a probability.
        TypeError: if ``x`` is not a tensor of floats.
    """
    if not isinstance(p, (int, float)) or not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout: p is a probability from 0 to 1, not {p!r}")
    training, inplace = checks.flag("dropout", "training", training), checks.flag("dropout", "inplace", inplace)
    (x,) = floats_of("dropout", x=x)  # type: ignore[assignment]  # one result per argument
    if not training or p == 0:
        return x
    kept: Any = bernoulli(full_like(x.detach(), 1.0 - p))
    mask = FUNCTIONS["scale_"](kept, 1.0 / (1.0 - p)) if p < 1 else kept
    return FUNCTIONS["multiply_" if inplace else "multiply"](x, mask)
