"""Inspect tensors, their versions and their gradients, under Paddle's names. The results have no gradient."""

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
    return _result("numel", x, np.full((), x._array.size, np.int64, like=x._array))


def dim(x: Tensor) -> int:
    """Return the number of dimensions of ``x``."""
    return x.ndim


def _result(op: str, x: Tensor, array: Any) -> Tensor:
    return Tensor._made(as_array(array), op, (x,))


def _check_axes(op: str, x: Tensor, axis: Any, keepdim: Any) -> tuple[tuple[int, ...], bool]:
    """Return the axes and ``keepdim`` in numpy's form, after checking them. Errors name the function ``op``."""
    try:
        axis, keepdim = reduce_arguments(axis, keepdim)
        return axes(x._array.shape, axis), keepdim
    except (TypeError, ValueError, IndexError) as error:
        raise explain(op, error, (x._array,)) from None


def _truth(name: str, quantifier: str) -> Callable[..., Tensor]:
    def truth(x: Tensor, axis: Any = None, keepdim: bool = False) -> Tensor:
        need_tensor(name, x)
        axis, keepdim = _check_axes(name, x, axis, keepdim)
        return _result(name, x, getattr(x._array, name)(axis=axis, keepdims=keepdim))

    truth.__name__ = truth.__qualname__ = name
    truth.__doc__ = f"""Test if {quantifier} element along ``axis`` (by default all elements) is true, or not 0.

    Returns:
        A bool tensor of the shape of ``x`` without the dimensions ``axis``; with ``keepdim`` they remain and have
        length 1. Without ``axis``, the shape is [] ([1, 1, ...] with ``keepdim``).

    Raises:
        IndexError: if ``x`` does not have that axis.
        TypeError: if ``x`` is not a tensor.
    """
    return truth


all_, any_ = _truth("all", "every"), _truth("any", "some")


def equal_all(x: Tensor, y: Any) -> Tensor:
    """Test if ``x`` and ``y`` have the same shape and equal elements. The result is a bool tensor without dimensions.

    Args:
        x, y: tensors, arrays or numbers; at least one is a tensor or an array.

    Raises:
        TypeError: if an operand is anything else.
    """
    x, y = as_operands("equal_all", x, y)
    a, b = x._array, y._array
    if a.shape != b.shape:
        return _result("equal_all", x, np.zeros((), np.bool_, like=a if a.shape else b))
    return _result("equal_all", x, np.equal(a, b).all())


def allclose(x: Tensor, y: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Test if ``abs(x - y) <= atol + rtol * abs(y)`` for all elements. The result is a bool tensor without dimensions.

    Args:
        x, y: of shapes that are broadcast against each other.

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
    return _result("allclose", x, close.all())


def gradient(x: Tensor) -> np.ndarray | None:
    """Return a copy of ``x.grad`` as a numpy array of its shape and dtype; None if there is no gradient."""
    return None if x.grad is None else x.grad.numpy()


def inplace_version_of(x: Tensor) -> int:
    """Return ``x.inplace_version``."""
    return x.inplace_version


def bump_inplace_version(x: Tensor) -> None:
    """Increment the version of ``x`` after a write that the engine did not notice.

    ``backward()`` then refuses the saved ``x``, as after any other write.
    """
    log_write(x._storage, "_bump_inplace_version")


def reset_grad_inplace_version(x: Tensor, set_to_zero: bool = False) -> None:
    """Do nothing. Paddle resets the version of the gradient; in minitensor a version never decreases.

    After a reset, ``backward()`` could not detect that a saved tensor was overwritten before.
    """
    need_tensor("_reset_grad_inplace_version", x)


def register_backward_hook(x: Tensor, hook: Callable[[], Any]) -> None:
    """Call ``hook()`` each time after ``backward()`` has added to the gradient of the leaf ``x``.

    Raises:
        ValueError: if ``x`` is not a leaf, or does not need a gradient.
        TypeError: if ``x`` is not a tensor, or ``hook`` is not a function.
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


#: The functions that the package ``minitensor`` gets from this module, keyed by name.
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
#: The methods that tensors get from this module, keyed by name.
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
