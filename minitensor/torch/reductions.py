"""Reductions without a row of their own in the derivative table: ``all``, ``max``, ``var``, ``norm`` and others."""

from __future__ import annotations

import functools
import math
from collections import namedtuple
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from minitensor.engine import checks
from minitensor.engine.autocasting import autocasts
from minitensor.engine.core.history import Node, new_node
from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.engine.device.arrays import as_array, host_array, like
from minitensor.engine.dtypes import FLOATS, HALVES, INTEGERS
from minitensor.engine.kernels.numbers import number
from minitensor.engine.kernels.reducing import counted
from minitensor.engine.layers.activations import powers
from minitensor.engine.modes import modes
from minitensor.torch import result_strides
from minitensor.torch.arguments import as_dim, need_int, need_tensor
from minitensor.torch.compiling import FUNCTIONS as TABLE
from minitensor.torch.conversion import to
from minitensor.torch.creation import size_of
from minitensor.torch.dtypes import SCALAR_NAMES, dtype_of, float32, int32
from minitensor.torch.grad_fn import NamedOperation, name_grad_fn
from minitensor.torch.tensor import Tensor, as_result, without_history

_add, _sub, _mul, _div, _gather = (TABLE[name] for name in ("add", "sub", "mul", "div", "gather"))

# ---------- truth values and counts ----------


_TRUTH = """
Returns:
    A tensor of bools, or of uint8 if ``input`` holds uint8. With ``dim``, it has the shape of ``input`` without ``dim``
    (or with length 1 along ``dim`` if ``keepdim`` is true). Without ``dim``, it has the shape [].

Raises:
    IndexError: if ``input`` has no such dimension.
    TypeError: if ``input`` is not a tensor, or ``keepdim`` is not a bool.
"""


def _truth(name: str) -> Callable[..., Tensor]:
    def truth(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
        need_tensor(name, input)
        if not isinstance(keepdim, bool):
            kind = type(keepdim).__name__
            raise TypeError(f"{name}(): argument 'keepdim' (position 2) must be bool, not {kind}")
        several = isinstance(dim, (list, tuple))
        dims = dim if several else () if dim is None else (dim,)
        axis = tuple(as_dim(each, input._array.ndim) for each in dims) or None
        found = getattr(np, name)(input._array, axis=axis if input._array.ndim else None, keepdims=keepdim)
        if input._array.dtype == np.uint8:
            found = as_array(found.astype(np.uint8))
        return without_history(input, found, name)

    truth.__name__ = truth.__qualname__ = name
    truth.__doc__ = f"Return True if {name} elements are true; with ``dim``, for each slice along ``dim``.\n{_TRUTH}"
    return truth


all, any_ = _truth("all"), _truth("any")


def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    """Return the number of elements that are not 0, along ``dim`` (one dimension or several; all by default). The
    result is int64 and has the shape of ``input`` without ``dim``. If ``dim`` is None, it has the shape [].

    Raises:
        IndexError: if ``input`` has no such dimension.
        TypeError: if ``input`` is not a tensor.
    """
    need_tensor("count_nonzero", input)
    given = [] if dim is None else dim if isinstance(dim, (list, tuple)) else [dim]
    axes = tuple(as_dim(each, input._array.ndim) for each in given)
    if not input._array.ndim:
        axes = ()  # as_dim accepts 0 and -1 for a tensor without dimensions
    found = np.asarray(np.count_nonzero(host_array(input._array), axes or None), np.int64)
    return without_history(input, like(found, input._array), "count_nonzero")


def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """Return how often each integer 0, 1, 2, ... occurs in ``input``. With ``weights``, return for each integer the sum
    of the weights of the elements that are equal to it.

    Args:
        input: non-negative integers, shape [n].
        weights: one weight for each element of ``input``, shape [n].
        minlength: the smallest length of the result.

    Returns:
        An int64 tensor. With ``weights``, it is float32 if the weights are float32, else float64.

    Raises:
        NotImplementedError: if the dtype is not an integer one.
        RuntimeError: if a number is negative, or if an argument has another shape.
        TypeError: if ``input`` or ``weights`` is not a tensor.
    """
    need_tensor("bincount", input)
    if weights is not None:
        need_tensor("bincount", weights, 2, "weights")
    array = host_array(input._array)
    if array.dtype not in INTEGERS:
        raise NotImplementedError(f"\"bincount_cpu\" not implemented for '{input.dtype}': it counts whole numbers")
    if array.ndim != 1 or (array.size and int(array.min()) < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is not None and weights._array.shape != array.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    least = need_int("bincount", "minlength", minlength, 3)
    if least < 0:
        raise RuntimeError("minlength should be >= 0")
    size_of("bincount", (least,))
    counts = counted(array, None if weights is None else host_array(weights._array), least)
    return without_history(input, like(counts, input._array), "bincount")


# ---------- the largest and the smallest ----------


class ValuesAndIndices(namedtuple("ValuesAndIndices", ("values", "indices"))):
    """The result of ``max``, ``min`` and similar functions: elements along a dimension, and their positions.

    Attributes:
        name: the name of the function.
    """

    __slots__ = ()
    name = ""

    def __repr__(self) -> str:
        return f"torch.return_types.{self.name}(\nvalues={self.values!r},\nindices={self.indices!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.name, *self)


def _restored(name: str, values: Any, indices: Any) -> ValuesAndIndices:
    """Return the result of the function ``name``. Pickles contain the name `_restored`, so it must not change."""
    kind = next(each for each in ValuesAndIndices.__subclasses__() if each.name == name)
    return kind(values, indices)


_ARG = """
Returns:
    An int64 tensor of the shape of ``input`` without ``dim`` (or with length 1 along ``dim`` if ``keepdim`` is true).
    Without ``dim``, it has the shape [] and contains a position in the flattened tensor.

Raises:
    IndexError: if ``input`` has no such dimension, or no element.
    TypeError: if ``input`` is not a tensor.
"""


_EXTREME = """
Returns:
    A tensor without dimensions. With ``dim``, a pair of values and indices (int64) that have the shape of ``input``
    without ``dim`` (or with length 1 along ``dim`` if ``keepdim`` is true). For two tensors, a tensor of their
    broadcast shape.

Raises:
    IndexError: if ``input`` has no such dimension.
    RuntimeError: if ``input`` has no element and no ``dim`` is given, or if the shapes of two tensors cannot be
        broadcast.
    TypeError: if ``input`` is not a tensor.
"""


def _arg(name: str, extreme: str) -> Callable[..., Tensor]:
    pick = getattr(np, name)

    def arg(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
        need_tensor(name, input)
        array = host_array(input._array)
        if array.dtype == np.bool_:
            raise RuntimeError(f"{name}(): does not support bool input")
        if dim is not None:
            dim = as_dim(dim, array.ndim)
            if array.ndim and array.shape[dim] == 0:
                raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")
        elif array.size == 0:
            raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
        keepdim = checks.flag(f"{name}()", "keepdim", keepdim)
        found = np.asarray(pick(array if array.ndim or dim is None else array.reshape(1), axis=dim), np.int64)
        if keepdim and dim is not None and array.ndim:
            found = np.expand_dims(found, dim)
        return without_history(input, like(found, input._array), name)

    arg.__name__ = arg.__qualname__ = name
    arg.__doc__ = f"Return the position of the {extreme} element along ``dim``, the first if several are equal.\n{_ARG}"
    return arg


argmax, argmin = _arg("argmax", "largest"), _arg("argmin", "smallest")


def _to_equals(node: Node, g: Any) -> tuple[Any]:
    """Return the gradient of the input: equal shares for the elements at the saved positions."""
    (positions,) = node.saved
    share = host_array(g) / (len(positions) or 1)
    found = np.zeros(node.inputs[0].shape, share.dtype)  # type: ignore[union-attr]  # the input is recorded
    found.reshape(-1)[positions] = share
    return (like(found.astype(host_array(g).dtype), g),)


def _of_equals(node: Node, _: int, u: Any) -> Any:
    """Return the derivative of the element in the direction ``u``: the mean of ``u`` at the saved positions."""
    (positions,) = node.saved
    shares = host_array(u).reshape(-1)[positions] / (len(positions) or 1)
    return like(np.asarray(shares.sum(), host_array(u).dtype), u)


#: The operation that returns an element with a given value. All elements with this value share its gradient equally.
#: For this purpose, nan equals nan.
EQUALS = NamedOperation("element", _to_equals, jvp=_of_equals, torch_name="MedianBackward0")


def element_of_value(input: Tensor, value: Any, name: str) -> Tensor:
    """Return a tensor without dimensions that has the value ``value``: an element of ``input``, or nan if that is
    empty.
    """
    out = without_history(input, like(np.asarray(value, input._array.dtype), input._array), name)
    node = input._current() if modes.grad and input._array.dtype in FLOATS else None
    if node is not None:
        array = host_array(input._array)
        positions = np.flatnonzero(np.isnan(array) if np.isnan(value) else array == value)
        out._node = new_node(EQUALS, (node,), (positions,), ())
    return out


def _extreme(name: str, whole: str, of_two: str, where: Callable[..., Tensor]) -> Callable[..., Any]:
    kind = type(name, (ValuesAndIndices,), {"__slots__": (), "name": name})

    def extreme(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
        need_tensor(name, input)
        if isinstance(dim, BaseTensor) or other is not None:
            if keepdim is not False or (dim is not None and other is not None):
                raise TypeError(f"{name}(): takes either two tensors, or one tensor with dim and keepdim")
            return TABLE[of_two](input, dim if other is None else other)
        if dim is None:
            if input._array.size == 0:
                raise RuntimeError(
                    f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction "
                    f"dim with the 'dim' argument."
                )
            out = TABLE[whole](input)
            if type(out._array) is np.ndarray and out._array.dtype in FLOATS and np.isnan(out._array):
                out = element_of_value(input, out._array[()], name)  # on a GPU, PyTorch does not test for nan
            return name_grad_fn(out, f"{name.capitalize()}Backward1")
        as_dim(dim, input._array.ndim)
        # As in PyTorch, `max` accepts bools. `argmax` refuses them, so it gets integers.
        compared = to(input.detach(), int32) if input._array.dtype == np.bool_ else input
        if input._array.ndim == 0:
            return kind(name_grad_fn(TABLE["clone"](input), f"{name.capitalize()}Backward0"), where(compared))
        keepdim = checks.flag(f"{name}()", "keepdim", keepdim)
        indices = where(compared, dim, True)
        values = _gather(input, dim, indices)
        if not keepdim:
            values, indices = as_result(values.squeeze(dim)), as_result(indices.squeeze(dim))
        return kind(name_grad_fn(values, f"{name.capitalize()}Backward0"), indices)

    extreme.__name__ = extreme.__qualname__ = name
    extreme.__doc__ = (
        f"Return the {name} of all elements. With ``dim``, return the {name} along it, and its indices. For two "
        f"tensors, return the {name} of each pair of elements.\n{_EXTREME}"
    )
    return extreme


max, min = _extreme("max", "amax", "maximum", argmax), _extreme("min", "amin", "minimum", argmin)


# ---------- spread, norms, logarithms of sums ----------

Reduction = TypeVar("Reduction", bound=Callable[..., Any])


def in_float32(reduction: Reduction) -> Reduction:
    """Wrap ``reduction`` so that it computes 16-bit floats in float32 and rounds the result.

    In float16 the square of 256 overflows.
    """

    @functools.wraps(reduction)
    def computed(input: Tensor, *given: Any, **named: Any) -> Any:
        if not isinstance(input, BaseTensor) or input._array.dtype not in HALVES:
            return reduction(input, *given, **named)
        wide = reduction(to(input, float32), *given, **named)
        result = to(wide, input.dtype)
        return result if wide.grad_fn is None else name_grad_fn(result, wide.grad_fn.name())

    return cast(Reduction, computed)


@in_float32
def var(
    input: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None
) -> Tensor:
    """Return the variance: the sum of squared distances from the mean, divided by the count minus ``correction``.

    Args:
        dim: one dimension or several; all by default.
        keepdim: True to keep the reduced dimensions with length 1.
        correction: the number to subtract from the count, by default 1. ``unbiased=False`` means 0.

    Raises:
        RuntimeError: if the dtype is not a floating-point one.
        IndexError: if ``input`` has no such dimension.
    """
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    unbiased, keepdim = checks.flag("var()", "unbiased", unbiased), checks.flag("var()", "keepdim", keepdim)
    correction = int(unbiased) if correction is None else number("var", "correction", correction)
    mean = TABLE["mean"](input, dim, True)
    distance = _sub(input, mean)
    total = TABLE["sum"](_mul(distance, distance), dim, keepdim)
    count = input._array.size // (mean._array.size or 1)
    divisor = count - correction if count > correction else 0
    return name_grad_fn(_div(total, float(divisor)), "VarBackward0")


@in_float32
def std(
    input: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None
) -> Tensor:
    """Return the square root of :func:`var`. If all numbers are equal, the gradient is 0.

    Args:
        dim, keepdim, correction: as for :func:`var`.

    Raises:
        RuntimeError: if the dtype is not a floating-point one.
        IndexError: if ``input`` has no such dimension.
    """
    return name_grad_fn(_root(var(input, dim, unbiased, keepdim, correction=correction)), "StdBackward0")


def _root(x: Tensor) -> Tensor:
    """Return the square root. Its gradient at 0 is 0 instead of inf."""
    is_zero = TABLE["eq"](x, 0)
    return TABLE["where"](is_zero, 0.0, TABLE["sqrt"](TABLE["where"](is_zero, 1.0, x)))


@autocasts
@in_float32
def norm(input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False) -> Tensor:
    """Return the p-norm, by default the root of the sum of squares. The gradient at 0 is 0.

    Args:
        p: a number, inf, -inf, or "fro", which means 2.
        dim: one dimension or several; all by default.
        keepdim: True to keep the reduced dimensions with length 1.

    Raises:
        IndexError: if ``input`` has no such dimension.
        RuntimeError: if the dtype is not a floating-point one, or ``p`` is below 0 and there are no elements.
        TypeError: if ``p`` is neither a number nor "fro".
    """
    p = 2 if isinstance(p, str) and p == "fro" else p
    if not isinstance(p, (int, float)):
        raise TypeError(f"norm(): p must be a number or 'fro', not {checks.shown(p)}")
    keepdim = checks.flag("norm()", "keepdim", keepdim)
    if input._array.dtype not in FLOATS:
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            f"{SCALAR_NAMES[input._array.dtype]}"
        )
    if p < 0 and not math.isinf(p) and _reduces_nothing(input, dim):
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {p:g} norm on an empty tensor because the operation does not have "
            f"an identity"
        )
    if p == 2:
        result = _root(TABLE["sum"](_mul(input, input), dim, keepdim))
    elif p == 0:  # the number of elements that are not 0, which has no gradient
        return TABLE["sum"](TABLE["ne"](input, 0), dim, keepdim).to(input.dtype)
    elif p in (math.inf, -math.inf):
        result = TABLE["amax" if p > 0 else "amin"](TABLE["abs"](input), () if dim is None else dim, keepdim)
    elif p == 1:
        result = TABLE["sum"](TABLE["abs"](input), dim, keepdim)
    else:
        result = TABLE["pow"](TABLE["sum"](powers(TABLE, TABLE["abs"](input), p), dim, keepdim), 1.0 / p)
    return name_grad_fn(result, "LinalgVectorNormBackward0")


def _reduces_nothing(input: Tensor, dim: Any) -> bool:
    """True if a dimension that ``dim`` names has length 0, so that a norm along ``dim`` is a norm of no elements."""
    if dim is None:
        return input._array.size == 0
    dims = dim if isinstance(dim, (list, tuple)) else [dim]
    return any(input._array.shape[as_dim(each, input._array.ndim)] == 0 for each in dims if input._array.ndim)


def nansum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Return the sum of the elements that are not nan, along ``dim`` (one dimension or several; all by default).

    Args:
        dtype: the dtype of the result. The input is converted to it first.

    Raises:
        IndexError: if ``input`` has no such dimension.
        TypeError: if ``dim`` holds no integers, or ``keepdim`` is not a bool.
    """
    dim, keepdim = _dims(dim, input._array.ndim), checks.flag("nansum()", "keepdim", keepdim)
    known = TABLE["where"](TABLE["isnan"](input), 0, input) if input._array.dtype in FLOATS else input
    return name_grad_fn(TABLE["sum"](known, dim, keepdim, dtype=dtype), "NansumBackward0")


def nanmean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Return the mean of the elements that are not nan, along ``dim`` (one dimension or several; all by default).

    Raises:
        IndexError: if ``input`` has no such dimension.
        TypeError: if ``dim`` holds no integers, or ``keepdim`` is not a bool.
        RuntimeError: if the dtype is not a floating-point one.
    """
    dim, keepdim = _dims(dim, input._array.ndim), checks.flag("nanmean()", "keepdim", keepdim)
    total = nansum(input, dim, keepdim, dtype=dtype)
    if input._array.dtype not in FLOATS:
        name = SCALAR_NAMES[input._array.dtype]
        raise RuntimeError(f"nanmean(): expected input to have floating point or complex dtype but got {name}")
    count = TABLE["sum"](TABLE["logical_not"](TABLE["isnan"](input)), dim, keepdim)
    return _div(total, count)


def _dims(dim: Any, ndim: int) -> Any:
    """Return ``dim``, one number or several, counted from the first dimension. None (all dimensions) stays None."""
    if dim is None:
        return None
    return [as_dim(each, ndim) for each in dim] if isinstance(dim, (list, tuple)) else as_dim(dim, ndim)


def _highest(input: Tensor, dim: Any) -> Tensor:
    """Return the largest element along ``dim``, or 0 if there is no element. ``dim`` gets length 1."""
    if input._array.size == 0:
        return TABLE["sum"](input.detach(), dim, True)
    return TABLE["amax"](input.detach(), dim, True)


@autocasts
def log_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """Return the logarithm of softmax without intermediate overflow.

    Args:
        dtype: the dtype of the result. The input is converted to it first.

    Raises:
        IndexError: if ``input`` has no such dimension.
        NotImplementedError: if the dtype is not a floating-point one.
    """
    if dtype is not None:
        input = to(input, dtype_of(dtype))
    dim = as_dim(dim, input._array.ndim)
    if input._array.dtype not in FLOATS:
        name = SCALAR_NAMES[input._array.dtype]
        raise NotImplementedError(f"\"log_softmax_lastdim_kernel_impl\" not implemented for '{name}'")
    shifted = _sub(input, _highest(input, dim))
    total = TABLE["log"](TABLE["sum"](TABLE["exp"](shifted), dim, True))
    return name_grad_fn(result_strides.arrange(_sub(shifted, total), result_strides.contiguous), "LogSoftmaxBackward0")


def logsumexp(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """Return the logarithm of the sum of exponentials without intermediate overflow.

    Args:
        dim: one dimension or several.
        keepdim: True to keep the reduced dimensions with length 1.

    Raises:
        IndexError: if ``input`` has no such dimension.
    """
    keepdim = checks.flag("logsumexp()", "keepdim", keepdim)
    if input._array.dtype not in FLOATS:
        input = to(input, float32)
    highest = _highest(input, dim)
    # An infinite maximum is not subtracted, because inf - inf is nan.
    highest = TABLE["where"](TABLE["isinf"](highest), 0.0, highest)
    total = TABLE["log"](TABLE["sum"](TABLE["exp"](_sub(input, highest)), dim, keepdim))
    highest = highest if keepdim else highest.squeeze(dim)
    return name_grad_fn(_add(total, highest), "LogsumexpBackward0")
