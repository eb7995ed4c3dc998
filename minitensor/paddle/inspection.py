"""Inspect tensors, under Paddle's names. Results that are bools or positions have no gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.core.errors import explain
from minitensor.engine.core.storage import log_write
from minitensor.engine.core.tensor import AfterHook, Tensor
from minitensor.engine.device.arrays import as_array
from minitensor.engine.kernels.numbers import number
from minitensor.engine.kernels.reducing import axes, reduce_arguments
from minitensor.engine.operations.arguments import need_tensor
from minitensor.engine.operations.extreme_positions import argmax, argmin
from minitensor.engine.operations.operands import as_operands


def is_tensor(x: Any) -> bool:
    """True if ``x`` is a tensor."""
    return isinstance(x, Tensor)


def numel(x: Tensor) -> Tensor:
    """Return the number of elements of ``x`` as a tensor without dimensions; ``x.size`` is the plain number.

    Raises:
        TypeError: if ``x`` is not a tensor.
    """
    need_tensor("numel", x)
    return _answer("numel", x, np.full((), x._array.size, np.int64, like=x._array))


def dim(x: Tensor) -> int:
    """Return the number of dimensions of ``x``."""
    return x.ndim


def _answer(op: str, x: Tensor, array: Any) -> Tensor:
    return Tensor._made(as_array(array), op, (x,))


def _over(op: str, x: Tensor, axis: Any, keepdim: Any) -> tuple[tuple[int, ...], bool]:
    """Return the axes and ``keepdim`` as numpy takes them, after checking them; errors name the function ``op``."""
    try:
        axis, keepdim = reduce_arguments(axis, keepdim)
        return axes(x._array.shape, axis), keepdim
    except (TypeError, ValueError, IndexError) as error:
        raise explain(op, error, (x._array,)) from None


def all_(x: Tensor, axis: Any = None, keepdim: bool = False) -> Tensor:
    """Test if every element along ``axis`` (by default all elements) is true, or not 0.

    Returns:
        A bool tensor of the shape of ``x`` without the dimensions ``axis``, which stay as 1 with ``keepdim``; without
        ``axis``, [] ([1, 1, ...] with ``keepdim``).

    Raises:
        IndexError: if ``x`` does not have that axis.
        TypeError: if ``x`` is not a tensor.
    """
    need_tensor("all", x)
    over, keepdim = _over("all", x, axis, keepdim)
    return _answer("all", x, x._array.all(axis=over, keepdims=keepdim))


def any_(x: Tensor, axis: Any = None, keepdim: bool = False) -> Tensor:
    """Test if some element along ``axis`` (by default all elements) is true, or not 0.

    Returns:
        A bool tensor of the shape of ``x`` without the dimensions ``axis``, which stay as 1 with ``keepdim``; without
        ``axis``, [] ([1, 1, ...] with ``keepdim``).

    Raises:
        IndexError: if ``x`` does not have that axis.
        TypeError: if ``x`` is not a tensor.
    """
    need_tensor("any", x)
    over, keepdim = _over("any", x, axis, keepdim)
    return _answer("any", x, x._array.any(axis=over, keepdims=keepdim))


def equal_all(x: Tensor, y: Any) -> Tensor:
    """Test if ``x`` and ``y`` have the same shape and equal elements.

    Args:
        x, y: tensors, arrays or numbers of any shape, at least one a tensor or an array.

    Returns:
        A bool tensor without dimensions.

    Raises:
        TypeError: if an operand is anything else.
    """
    x, y = as_operands("equal_all", x, y)
    a, b = x._array, y._array
    if a.shape != b.shape:
        return _answer("equal_all", x, np.zeros((), np.bool_, like=a if a.shape else b))
    return _answer("equal_all", x, np.equal(a, b).all())


def allclose(x: Tensor, y: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Test if ``abs(x - y) <= atol + rtol * abs(y)`` for all elements.

    Args:
        x, y: of shapes that are broadcast against each other.

    Returns:
        A bool tensor without dimensions.

    Raises:
        ValueError: if the shapes cannot be broadcast.
        TypeError: if an operand is not a tensor, array or number.
    """
    x, y = as_operands("allclose", x, y)
    rtol, atol = (float(number("allclose", name, given)) for name, given in (("rtol", rtol), ("atol", atol)))
    equal_nan = checks.flag("allclose", "equal_nan", equal_nan)
    try:
        with np.errstate(all="ignore"):
            close = np.isclose(x._array, y._array, rtol, atol, equal_nan)
    except ValueError as error:
        raise explain("allclose", error, (x._array, y._array)) from None
    return _answer("allclose", x, close.all())


def gradient(x: Tensor) -> np.ndarray | None:
    """Return a copy of ``x.grad`` as a numpy array.

    Returns:
        An array of the shape and dtype of ``x``; None if there is no gradient.
    """
    return None if x.grad is None else x.grad.numpy()


def inplace_version_of(x: Tensor) -> int:
    """Return ``x.inplace_version``."""
    return x.inplace_version


def bump_inplace_version(x: Tensor) -> None:
    """Raise the version of ``x`` by 1 after a write that the engine did not see, so that backward of operations that
    saved ``x`` detects the write.
    """
    log_write(x._storage, "_bump_inplace_version")


def reset_grad_inplace_version(x: Tensor, set_to_zero: bool = False) -> None:
    """Do nothing. Paddle resets the version of the gradient, but in minitensor a version never decreases.

    Otherwise a tensor saved before a write could not be distinguished from its later value.
    """
    need_tensor("_reset_grad_inplace_version", x)


def register_backward_hook(x: Tensor, hook: Callable[[], Any]) -> None:
    """Call ``hook()`` each time after backward has added to the gradient of the leaf ``x``.

    Raises:
        ValueError: if ``x`` is not a leaf, or does not need a gradient.
    """
    need_tensor("_register_backward_hook", x)
    if not x.is_leaf:
        raise ValueError("Only can register backward hook for leaf Tensor.")
    node = x._current()
    if node is None:
        raise ValueError("Cannot register backward hook on a Tensor that stop gradient.")
    if not callable(hook):
        raise TypeError(f"_register_backward_hook takes a function without arguments, not {type(hook).__name__}")
    node.add_hook(AfterHook(hook))


def shares_buffer_with(x: Tensor, other: Tensor) -> bool:
    """True if both tensors use the same storage."""
    need_tensor("_is_shared_buffer_with", other)
    return x._storage is other._storage


#: Available as functions.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "all": all_,
    "allclose": allclose,
    "any": any_,
    "argmax": argmax,
    "argmin": argmin,
    "equal_all": equal_all,
    "is_tensor": is_tensor,
    "numel": numel,
}
#: Available as methods of tensors.
METHODS: dict[str, Callable[..., Any]] = {
    **{name: function for name, function in FUNCTIONS.items() if name != "is_tensor"},
    "dim": dim,
    "gradient": gradient,
    "_bump_inplace_version": bump_inplace_version,
    "_inplace_version": inplace_version_of,
    "_is_shared_buffer_with": shares_buffer_with,
    "_register_backward_hook": register_backward_hook,
    "_reset_grad_inplace_version": reset_grad_inplace_version,
}

for _name, _function in METHODS.items():
    setattr(Tensor, _name, _function)
