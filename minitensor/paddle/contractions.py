"""Functions with Paddle's names, such as `einsum`, `diag` and `tile`, that call operations with gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.core.errors import devices_differ, named_instead, on_several_devices
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.device.arrays import host_array, like
from minitensor.engine.dtypes import INTEGERS
from minitensor.engine.kernels.numbers import number, stored
from minitensor.engine.layers import einsum as contraction
from minitensor.engine.layers import rearranging
from minitensor.engine.operations import FUNCTIONS as TABLE
from minitensor.engine.operations.arguments import as_axis, need_tensor
from minitensor.engine.views.parts import as_strided, diagonal
from minitensor.engine.views.reshaping import reshape, unsqueeze


def einsum(equation: str, *operands: Any) -> Tensor:
    """Return the products that ``equation`` describes, summed over each letter that the result lacks.

    Args:
        equation: letters for the dimensions of each operand, and after ``->`` those of the result: "ij,jk->ik". ``...``
            means any number of dimensions.
        operands: tensors, one by one or as one list.

    Returns:
        A tensor with the dimensions of the equation's result. As in Paddle, it is on a new storage, or a view
        of a contiguous operand if the equation changes nothing.

    Raises:
        ValueError: if the equation and the shapes do not fit together.
        TypeError: if an operand is not a tensor.
    """
    given = tuple(operands[0]) if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands
    out = contraction.einsum("einsum", equation, given, TABLE["matmul"])
    x = given[0]
    in_order = out.shape == x.shape and out.strides == [math.prod(out.shape[i + 1 :]) for i in range(out.ndim)]
    return TABLE["clone"](out) if out._storage is x._storage and not in_order else out


def outer(x: Tensor, y: Tensor) -> Tensor:
    """Return all products of an element of ``x`` and an element of ``y``: a tensor [n, m] for n and m elements.

    Raises:
        TypeError: if an operand is not a tensor.
    """
    need_tensor("outer", x)
    need_tensor("outer", y)
    return TABLE["multiply"](reshape(x, [-1, 1]), reshape(y, [1, -1]))


def trace(x: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1, name: str | None = None) -> Tensor:
    """Return the sum of the diagonal of ``x`` in the plane of ``axis1`` and ``axis2``.

    Returns:
        A tensor of the shape of ``x`` without these two dimensions, and of the dtype of ``x``; of int64 for bools.

    Raises:
        ValueError: if ``x`` has fewer than two dimensions, or if ``axis1`` and ``axis2`` are the same.
        IndexError: if ``x`` does not have that axis.
        TypeError: if ``x`` is not a tensor.
    """
    try:
        total = TABLE["sum"](diagonal(x, offset, axis1, axis2), -1)
        return total.astype(x.dtype) if x._array.dtype in INTEGERS else total
    except (ValueError, TypeError, IndexError) as error:
        raise named_instead("trace", "diagonal", error) from None


def diag(x: Tensor, offset: int = 0, padding_value: float = 0, name: str | None = None) -> Tensor:
    """Return a matrix with the vector ``x`` on its diagonal, or a copy of the diagonal of the matrix ``x``.

    Args:
        offset: the number of columns by which the diagonal is moved to the right.
        padding_value: the number in the other cells of the matrix that is returned for a vector.

    Returns:
        For a vector of n elements, a tensor of shape [m, m], where m is ``n + abs(offset)``; for a matrix whose
        diagonal has n cells, a tensor of shape [n].

    Raises:
        ValueError: if ``x`` has more than two dimensions.
        TypeError: if ``x`` is not a tensor, or if another argument is not a number.
    """
    need_tensor("diag", x)
    if x.ndim > 2:
        raise ValueError(f"diag: x must be a vector or a matrix, but its shape is {x.shape}")
    offset, padding = checks.integer("diag", "offset", offset), number("diag", "padding_value", padding_value)
    if x.ndim == 2:
        return TABLE["clone"](diagonal(x, offset))
    matrix = TABLE["diag_embed"](reshape(x, [-1]), offset)
    if not padding:
        return matrix
    is_filled = np.eye(matrix.shape[0], k=offset, dtype=np.bool_)
    return TABLE["where"](Tensor._made(like(is_filled, x._array)), matrix, stored("diag", padding, x._array.dtype)[()])


def inner(x: Tensor, y: Tensor) -> Tensor:
    """Return the dot product of each vector along the last dimension of ``x`` with each such vector of ``y``. The shape
    of the result is that of ``x``, then that of ``y``, both without the last dimension.

    Args:
        x, y: of shapes [..., n] and [..., n]. If ``x`` or ``y`` has a single element, they are multiplied instead.

    Raises:
        ValueError: if the last dimensions differ in length.
        TypeError: if an operand is not a tensor.
    """
    need_tensor("inner", x)
    need_tensor("inner", y)
    if x.size == 1 or y.size == 1:
        return TABLE["multiply"](x, y)
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(f"inner: the last dimensions must be equally long, but the shapes are {x.shape} and {y.shape}")
    rows, columns = math.prod(x.shape[:-1]), math.prod(y.shape[:-1])
    products = TABLE["matmul"](reshape(x, [rows, x.shape[-1]]), reshape(y, [columns, y.shape[-1]]), False, True)
    return reshape(products, [*x.shape[:-1], *y.shape[:-1]])


def cdist(x: Tensor, y: Tensor, p: float = 2.0, name: str | None = None) -> Tensor:
    """Return the p-norm of the difference between every row of ``x`` and every row of ``y``. Where the norm is 0, its
    gradient is 0. The result has shape [..., n, m].

    Args:
        x: of shape [..., n, k].
        y: of shape [..., m, k]; the dimensions ``...`` are broadcast.
        p: a number, at least 0, or inf.

    Raises:
        ValueError: if the shapes do not fit, or ``p`` is below 0.
        TypeError: if an operand is not a tensor.
    """
    need_tensor("cdist", x)
    need_tensor("cdist", y)
    if x.ndim < 2 or y.ndim < 2 or x.shape[-1] != y.shape[-1]:
        raise ValueError(f"cdist: the rows of x and y must be equally long, but the shapes are {x.shape} and {y.shape}")
    p = checks.real("cdist", "p", p, least=0)
    return rearranging.row_norms(TABLE["subtract"](unsqueeze(x, -2), unsqueeze(y, -3)), float(p))


def tile(x: Tensor, repeat_times: Any, name: str | None = None) -> Tensor:
    """Return a copy of ``x`` that is repeated along each dimension; ``repeat_times`` has a number for each dimension.

    The length of the result along a dimension is the length of ``x`` times the number.

    Args:
        repeat_times: integers, or a tensor of integers. If there are more numbers than dimensions, ``x`` first gets
            dimensions of length 1 in front; if there are fewer numbers, they are for the last dimensions.

    Raises:
        ValueError: if a number is negative.
        TypeError: if ``x`` is not a tensor, or ``repeat_times`` are not integers.
    """
    need_tensor("tile", x)
    given = repeat_times.tolist() if isinstance(repeat_times, Tensor) else repeat_times
    times = [
        checks.integer("tile", "repeat_times", n) for n in (given if isinstance(given, (list, tuple)) else [given])
    ]
    return rearranging.tile("tile", x, times)


def repeat_interleave(x: Tensor, repeats: Any, axis: int | None = None, name: str | None = None) -> Tensor:
    """Return ``x`` with each position along ``axis`` repeated. Without ``axis``, ``x`` is flattened first. The result
    has the shape of ``x`` (or of the flattened ``x``), with another length along ``axis``.

    Args:
        repeats: an integer, or a tensor of integers with one for each position.

    Raises:
        ValueError: if a number is negative, or if there is not one for each position.
        IndexError: if ``x`` does not have that axis.
        TypeError: if ``x`` is not a tensor.
    """
    need_tensor("repeat_interleave", x)
    if axis is None:
        x, axis = reshape(x, [-1]), 0
    counts = host_array(repeats._array) if isinstance(repeats, Tensor) else repeats
    return rearranging.repeat_interleave("repeat_interleave", x, counts, as_axis("repeat_interleave", axis, x.ndim))


def meshgrid(*args: Any, **named: Any) -> list[Tensor]:
    """Return one tensor for each vector, all of the same shape. Each tensor repeats its vector along all dimensions but
    one.

    Args:
        args: vectors, one by one or as one list, of lengths n, m, ...

    Returns:
        As many tensors as vectors, of shape [n, m, ...], each on a new storage.

    Raises:
        ValueError: if a tensor has more than one dimension.
        TypeError: if an argument is not a tensor.
    """
    named.pop("name", None)
    if named:
        raise TypeError(f"meshgrid: there is no argument {min(named)!r}")
    vectors = list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else list(args)
    return [TABLE["clone"](grid) for grid in rearranging.meshgrid("meshgrid", vectors, "ij")]


def unfold(x: Tensor, axis: int, size: int, step: int, name: str | None = None) -> Tensor:
    """Return a view of the windows of ``size`` positions along ``axis``, which begin ``step`` positions apart.

    Windows overlap if ``step`` is below ``size``; such a view is read-only.

    Returns:
        A view in which the length of ``axis`` is the number of windows, and a new last dimension has the length
        ``size``.

    Raises:
        ValueError: if ``size`` is below 0 or above the length, or ``step`` is below 1.
        IndexError: if ``x`` does not have that axis.
        TypeError: if ``x`` is not a tensor.
    """
    need_tensor("unfold", x)
    if x.ndim == 0:
        return unfold(reshape(x, [1]), axis, size, step)[0]
    shape, steps = rearranging.window_strides("unfold", x, axis, size, step)
    return as_strided(x, shape, steps, x.offset)


def kthvalue(
    x: Tensor, k: int, axis: int | None = None, keepdim: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Return the ``k``-th smallest element (counted from 1) along ``axis``, by default the last axis, and its position.

    Returns:
        Two tensors: the elements, and their positions (int64). Both have the shape of ``x`` without ``axis``, or with
        length 1 along ``axis`` if ``keepdim`` is true.

    Raises:
        ValueError: if ``k`` is below 1, or above the length of ``axis``.
        IndexError: if ``x`` does not have that axis.
        TypeError: if ``x`` is not a tensor.
    """
    need_tensor("kthvalue", x)
    keepdim = checks.flag("kthvalue", "keepdim", keepdim)
    return rearranging.kth("kthvalue", x, checks.integer("kthvalue", "k", k), -1 if axis is None else axis, keepdim)


def logsumexp(x: Tensor, axis: Any = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """Return the logarithm of the sum of exponentials along ``axis`` (all by default). The sum does not overflow. The
    result has the shape of ``x`` without the dimensions ``axis``; with ``keepdim`` they remain and have length 1. The
    result for integers is float32.

    Raises:
        IndexError: if ``x`` does not have that axis.
        TypeError: if ``x`` is not a tensor.
    """
    need_tensor("logsumexp", x)
    return rearranging.logsumexp(x.astype("float32") if x._array.dtype in INTEGERS else x, axis, keepdim)


def count_nonzero(x: Tensor, axis: Any = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """Return the number of elements along ``axis`` (all by default) that are not 0. The result is int64, of the shape
    of ``x`` without the dimensions ``axis``; with ``keepdim`` they remain and have length 1.

    Raises:
        IndexError: if ``x`` does not have that axis.
        TypeError: if ``x`` is not a tensor.
    """
    need_tensor("count_nonzero", x)
    return rearranging.reduced("count_nonzero", "sum", TABLE["not_equal"](x, 0), axis, keepdim)


def isclose(
    x: Tensor, y: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False, name: str | None = None
) -> Tensor:
    """Return True where ``abs(x - y) <= atol + rtol * abs(y)``, in a bool tensor of the broadcast shape.

    Raises:
        ValueError: if the shapes cannot be broadcast.
        TypeError: if an operand is not a tensor.
    """
    need_tensor("isclose", x)
    need_tensor("isclose", y)
    rtol, atol = checks.real("isclose", "rtol", rtol), checks.real("isclose", "atol", atol)
    if on_several_devices((x._array, y._array)):
        raise devices_differ("isclose", (x._array, y._array))
    one, other = host_array(x._array), host_array(y._array)
    try:
        close = np.isclose(one, other, rtol, atol, checks.flag("isclose", "equal_nan", equal_nan))
    except ValueError:
        raise ValueError(f"isclose: shapes {x.shape} and {y.shape} cannot be broadcast") from None
    return Tensor._made(like(np.asarray(close), x._array), "isclose", (x,))


def diff(x: Tensor, n: int = 1, axis: int = -1, name: str | None = None) -> Tensor:
    """Compute the differences of neighbours along ``axis``, ``n`` times in succession. The result has the shape of
    ``x``, but is ``n`` shorter along ``axis``.

    Raises:
        ValueError: if ``n`` is below 1.
        IndexError: if ``x`` does not have that axis.
        TypeError: if ``x`` is not a tensor.
    """
    need_tensor("diff", x)
    return rearranging.diff("diff", x, checks.integer("diff", "n", n), as_axis("diff", axis, x.ndim))


def _extreme(function: str, op: str, adjective: str) -> Callable[..., Tensor]:
    def extreme(x: Tensor, axis: Any = None, keepdim: bool = False, name: str | None = None) -> Tensor:
        need_tensor(function, x)
        return rearranging.reduced(function, op, x, axis, keepdim)

    extreme.__name__ = extreme.__qualname__ = function
    extreme.__doc__ = f"""Return the {adjective} element along ``axis`` (all by default); equal ones share the gradient.

    Returns:
        A tensor of the shape of ``x`` without the dimensions ``axis``; with ``keepdim`` they remain and have length 1.

    Raises:
        ValueError: if there is no element.
        IndexError: if ``x`` does not have that axis.
        TypeError: if ``x`` is not a tensor.
    """
    return extreme


amax, amin = _extreme("amax", "max", "largest"), _extreme("amin", "min", "smallest")


def mv(x: Tensor, vec: Tensor, name: str | None = None) -> Tensor:
    """Return the product of a matrix [n, k] and a vector [k]: shape [n].

    Raises:
        ValueError: if the shapes do not fit.
        TypeError: if an operand is not a tensor.
    """
    need_tensor("mv", x)
    need_tensor("mv", vec)
    if x.ndim != 2 or vec.ndim != 1 or x.shape[1] != vec.shape[0]:
        raise ValueError(
            f"mv: x must be a matrix [n, k] and vec a vector [k], but the shapes are {x.shape} and {vec.shape}"
        )
    return TABLE["matmul"](x, vec)


def rank(input: Tensor) -> Tensor:
    """Return the number of dimensions of ``input``, as an int32 tensor without dimensions.

    Raises:
        TypeError: if ``input`` is not a tensor.
    """
    need_tensor("rank", input)
    return Tensor._made(np.array(input.ndim, np.int32), "rank", (input,))


#: The methods that tensors get from this module, keyed by name. They are functions of ``minitensor``, too.
METHODS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        *(trace, diag, outer, inner, cdist, tile, repeat_interleave, unfold, kthvalue, logsumexp, count_nonzero),
        *(isclose, diff, amax, amin, mv, rank),
    )
}
#: The functions that the package ``minitensor`` gets from this module, keyed by name.
FUNCTIONS: dict[str, Callable[..., Any]] = {**METHODS, "einsum": einsum, "meshgrid": meshgrid}

for _name, _function in METHODS.items():
    setattr(Tensor, _name, _function)
