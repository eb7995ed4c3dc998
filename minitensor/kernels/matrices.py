"""Matrix products."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray


def matmul_arguments(transpose_x: Any, transpose_y: Any) -> tuple[Any, ...]:
    """Two bools."""
    return bool(transpose_x), bool(transpose_y)


def turned(x: Array, transpose: bool) -> Array:
    """The last two dimensions exchanged, if asked for; a vector stays."""
    return np.swapaxes(x, -1, -2) if transpose and x.ndim > 1 else x


def matmul(a: Array, b: Array, transpose_a: bool, transpose_b: bool) -> Array:
    """Matrix product over the last two dimensions."""
    a, b = turned(a, transpose_a), turned(b, transpose_b)
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
