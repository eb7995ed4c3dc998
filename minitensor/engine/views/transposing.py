"""Views with the dimensions in another order: transpose, t and T. The in-place variants write nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.checks import shown
from minitensor.engine.core.history import Node
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.operations.arguments import as_axis, need_tensor
from minitensor.engine.views.making import Reshaping, reshaped, view_of


def _transpose_backward(node: Node, g: np.ndarray) -> tuple[np.ndarray]:
    (perm,) = node.saved
    back = [0] * len(perm)
    for i, p in enumerate(perm):
        back[p] = i
    return (g.transpose(back),)


TRANSPOSE, TRANSPOSE_, T_, T_IN_PLACE = (
    Reshaping(name, lambda array, perm: array.transpose(perm), _transpose_backward)
    for name in ("transpose", "transpose_", "t", "t_")
)


def _permutation(op: str, x: Tensor, perm: Any) -> tuple[int, ...]:
    need_tensor(op, x)
    ndim = x._array.ndim
    try:
        axes = tuple(as_axis(op, p, ndim) for p in checks.elements(op, "perm", perm, "integers"))
    except TypeError:
        raise TypeError(f"{op}: perm must list every dimension once, as in [1, 0], but it is {shown(perm)}") from None
    if sorted(axes) != list(range(ndim)):
        raise ValueError(
            f"{op}: perm must list each of the {ndim} dimensions of shape {x.shape} once, but it is {list(axes)}"
        )
    return axes


def transpose(x: Tensor, perm: Any, name: str | None = None) -> Tensor:
    """Return a view whose dimension i is dimension ``perm[i]`` of ``x``. No data is moved.

    Args:
        perm: every dimension once, as in [1, 0].

    Raises:
        ValueError: if ``perm`` does not list each dimension once.
        IndexError: if ``x`` does not have one of the listed dimensions.
        TypeError: if ``perm`` is not a list of integers, or ``x`` is not a tensor.
    """
    if type(x) is Tensor and type(perm) in (list, tuple):
        try:
            return view_of(x, x._array.transpose(perm), TRANSPOSE, (tuple(perm),))
        except (ValueError, TypeError):
            pass  # _permutation raises an error for these
    axes = _permutation("transpose", x, perm)
    return view_of(x, x._array.transpose(axes), TRANSPOSE, (axes,))


def transpose_(x: Tensor, perm: Any, name: str | None = None) -> Tensor:
    """Reorder the dimensions of ``x`` in place. Nothing is moved or written.

    Raises:
        ValueError: if ``perm`` does not list each dimension once; for a leaf that requires a gradient, or a view of
            one, in grad mode.
        IndexError: if ``x`` does not have one of the listed dimensions.
        TypeError: if ``perm`` is not a list of integers, or ``x`` is not a tensor.
    """
    axes = _permutation("transpose_", x, perm)
    return reshaped(x, x._array.transpose(axes), TRANSPOSE_, (axes,))


def _axes_of_t(op: str, x: Tensor) -> tuple[int, ...]:
    need_tensor(op, x)
    ndim = x._array.ndim
    if ndim > 2:
        raise ValueError(f"{op}: x must have at most 2 dimensions, but its shape is {x.shape}. Use transpose.")
    return tuple(range(ndim))[::-1]


def t(input: Tensor, name: str | None = None) -> Tensor:
    """Return a view [m, n] of a matrix [n, m]. A tensor with fewer than two dimensions keeps its shape.

    Raises:
        ValueError: if there are more than two dimensions.
        TypeError: if ``input`` is not a tensor.
    """
    axes = _axes_of_t("t", input)
    return view_of(input, input._array.transpose(axes), T_, (axes,))


def t_(input: Tensor, name: str | None = None) -> Tensor:
    """Exchange rows and columns of a matrix in place. Nothing is written.

    Raises:
        ValueError: if there are more than two dimensions; for a leaf that requires a gradient, or a view of one, in
            grad mode.
        TypeError: if ``input`` is not a tensor.
    """
    axes = _axes_of_t("t_", input)
    return reshaped(input, input._array.transpose(axes), T_IN_PLACE, (axes,))


def _reverse_dimensions(x: Tensor) -> Tensor:
    """Return a view with the dimensions in reverse order: shape [2, 3, 4] becomes [4, 3, 2]. Any tensor is accepted."""
    return transpose(x, tuple(range(x._array.ndim))[::-1])


#: The functions, which are also methods of Tensor.
FUNCTIONS: dict[str, Callable[..., Any]] = {function.__name__: function for function in (transpose, t, transpose_, t_)}

for _name, _function in FUNCTIONS.items():
    setattr(Tensor, _name, _function)
Tensor.T = property(_reverse_dimensions)
