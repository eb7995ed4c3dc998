"""Matrix products, and norms of the slices of a tensor."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minitensor.engine.checks import flag
from minitensor.engine.device.arrays import broadcast_shapes, gpu_of
from minitensor.engine.dtypes import FLOATS
from minitensor.engine.kernels.indexed import checked, from_front, whole
from minitensor.engine.kernels.numbers import number, without_fraction

Array = np.ndarray


# ---------- products ----------


def matmul_arguments(transpose_x: Any, transpose_y: Any) -> tuple[Any, ...]:
    """Check two bools."""
    if transpose_x is transpose_y is False:
        return False, False
    return flag("", "transpose_x", transpose_x), flag("", "transpose_y", transpose_y)


def transposed(x: Array, transpose: bool) -> Array:
    """Exchange the last two dimensions if ``transpose`` is true; a vector is unchanged."""
    return np.swapaxes(x, -1, -2) if transpose and x.ndim > 1 else x


def matmul(a: Array, b: Array, transpose_a: bool, transpose_b: bool) -> Array:
    """The matrix product over the last two dimensions."""
    a, b = transposed(a, transpose_a), transposed(b, transpose_b)
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError(
            f"operands must have at least one dimension, but the shapes are {list(a.shape)} and {list(b.shape)}"
        )
    inner = a.shape[-1], b.shape[-2 if b.ndim > 1 else 0]
    if inner[0] != inner[1]:
        raise ValueError(
            f"shapes {list(a.shape)} and {list(b.shape)} do not fit: the last dimension of the first ({inner[0]}) must "
            f"equal the {'last but one' if b.ndim > 1 else 'only one'} of the second ({inner[1]})"
        )
    try:
        return np.matmul(a, b)
    except ValueError as error:
        if "broadcast" not in str(error):  # the result is too large
            raise
        raise ValueError(
            f"shapes {list(a.shape)} and {list(b.shape)} do not fit: the dimensions before the last two must be "
            f"equal, or 1 in one of them"
        ) from None


def addmm_arguments(beta: Any, alpha: Any) -> tuple[Any, ...]:
    """Check two numbers."""
    return number("addmm", "beta", beta), number("addmm", "alpha", alpha)


def baddbmm_arguments(beta: Any, alpha: Any) -> tuple[Any, ...]:
    """Check two numbers."""
    return number("baddbmm", "beta", beta), number("baddbmm", "alpha", alpha)


def addmm(c: Array, a: Array, b: Array, beta: Any, alpha: Any, out: Array | None = None) -> Array:
    """``beta * c + alpha * (a @ b)`` for matrices. If beta is 0, ``c`` is ignored, even if it contains nan."""
    return _add_product(c, a, b, beta, alpha, 2, out)


def baddbmm(c: Array, a: Array, b: Array, beta: Any, alpha: Any, out: Array | None = None) -> Array:
    """``beta * c + alpha * (a @ b)`` for stacks of matrices."""
    return _add_product(c, a, b, beta, alpha, 3, out)


def _add_product(c: Array, a: Array, b: Array, beta: Any, alpha: Any, ndim: int, out: Array | None) -> Array:
    if a.ndim != ndim or b.ndim != ndim or (ndim == 3 and a.shape[0] != b.shape[0]):
        kind = "matrices" if ndim == 2 else "equally many matrices in three dimensions"
        raise ValueError(f"x and y must be {kind}, but their shapes are {list(a.shape)} and {list(b.shape)}")
    if a.dtype not in FLOATS:
        beta, alpha = without_fraction(beta), without_fraction(alpha)
        if isinstance(beta, float) or isinstance(alpha, float):
            raise TypeError(f"beta={beta} and alpha={alpha} times {a.dtype.name} cannot be stored in that dtype")
    if gpu_of(c) is not gpu_of(a):
        raise TypeError("the operands are on two devices")  # without this check, nothing would raise if beta is 0
    with np.errstate(all="ignore"):
        product = matmul(a, b, False, False)
        wanted = product.shape if out is None else out.shape
        try:
            fits = product.shape == wanted == broadcast_shapes(c.shape, product.shape)
        except ValueError:
            fits = False
        if not fits:
            raise ValueError(
                f"the product has shape {list(product.shape)}, but the tensor that it is added to has {list(c.shape)}"
            )
        beta, alpha = a.dtype.type(beta), a.dtype.type(alpha)
        if alpha != 1:
            np.multiply(product, alpha, out=product)
        if out is None:
            return product if beta == 0 else np.add(c if beta == 1 else c * beta, product, out=product)
        if beta == 0:
            np.copyto(out, product)
            return out
        if beta != 1:
            np.multiply(out, beta, out=out)
        return np.add(out, product, out=out)


# ---------- norms ----------


def renorm_arguments(p: Any, axis: Any, max_norm: Any) -> tuple[Any, ...]:
    """Check the exponent of the norm (above 0), an axis, and the largest norm (0 or above)."""
    return _exponent("renorm", "p", p), whole("axis", axis), _largest_norm("renorm", max_norm)


def embedding_renorm_arguments(max_norm: Any, norm_type: Any) -> tuple[Any, ...]:
    """Check the largest norm (0 or above) and the exponent of the norm (above 0)."""
    return _largest_norm("embedding_renorm_", max_norm), _exponent("embedding_renorm_", "norm_type", norm_type)


def _exponent(op: str, name: str, given: Any) -> float:
    p = number(op, name, given)
    if not 0 < p < math.inf:
        raise ValueError(f"{op}: {name} must be a number above 0, not {p}")
    return p


def _largest_norm(op: str, given: Any) -> float:
    most = number(op, "max_norm", given)
    if not most >= 0:
        raise ValueError(f"{op}: max_norm must be a number, 0 or above, not {most}")
    return most


def slice_norms(a: Array, p: float, axis: int) -> Array:
    """Return the p-norm of the slice of ``a`` at each index of ``axis``; the other dimensions become length 1."""
    others = tuple(d for d in range(a.ndim) if d != axis)
    if a.size == 0:
        return np.zeros([n if d == axis else 1 for d, n in enumerate(a.shape)], a.dtype, like=a)
    with np.errstate(all="ignore"):
        size = np.abs(a)
        # Divide by the largest element, so that no power overflows.
        largest = np.max(size, axis=others, keepdims=True)
        largest = np.where(np.isfinite(largest) & (largest > 0), largest, a.dtype.type(1))
        return largest * np.sum((size / largest) ** p, axis=others, keepdims=True) ** (1 / p)


def _scale_factors(a: Array, p: float, axis: int, max_norm: float) -> Array:
    """Return the factor of each slice: below 1 if its norm is above ``max_norm``, else 1."""
    norms = slice_norms(a, p, axis)
    with np.errstate(all="ignore"):
        return np.where(norms > max_norm, max_norm / norms, 1).astype(a.dtype)


def renorm(a: Array, p: float, axis: int, max_norm: float, out: Array | None = None) -> Array:
    """``a``, with every slice along ``axis`` scaled down to the p-norm ``max_norm`` if its own p-norm is larger."""
    axis = from_front(axis, a.ndim)
    factors = _scale_factors(a if a.dtype in FLOATS else a.astype(np.float64), p, axis, max_norm)
    with np.errstate(all="ignore"):
        return np.multiply(a, factors, out=out)


def embedding_renorm(index: Array, weight: Array, max_norm: float, norm_type: float, out: Array) -> Array:
    """``weight``, with each row that ``index`` lists scaled down to the norm ``max_norm`` if its own norm is larger."""
    if weight.ndim != 2 or weight.dtype not in FLOATS:
        raise ValueError(
            f"weight must be a matrix of floats, but its shape is {list(weight.shape)} and its dtype "
            f"{weight.dtype.name}"
        )
    rows = np.unique(checked(index, weight.shape[0], 0))
    selected = weight[rows]
    with np.errstate(all="ignore"):
        out[rows] = selected * _scale_factors(selected, norm_type, 0, max_norm)
    return out
