"""Products of matrices and vectors, diagonals, the trace, and distances between vectors.

The docstrings resemble those of Paddle's functions, but name PyTorch's parameters and errors.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.autocasting import autocasts
from minitensor.engine.dtypes import FLOATS
from minitensor.engine.layers.einsum import einsum as contraction
from minitensor.engine.layers.einsum import equation_of
from minitensor.engine.layers.rearranging import row_norms
from minitensor.torch.arguments import need_int, need_tensor, refuse_bools
from minitensor.torch.compiling import FUNCTIONS as TABLE
from minitensor.torch.dtypes import C_NAMES, SCALAR_NAMES
from minitensor.torch.grad_fn import name_grad_fn
from minitensor.torch.tensor import Tensor, as_result, as_torch

_mul, _matmul = TABLE["mul"], TABLE["matmul"]


@autocasts
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """Return the product of two matrices. The result has shape [n, m].

    Args:
        input: shape [n, k].
        mat2: shape [k, m].

    Raises:
        RuntimeError: if the shapes do not fit or the dtypes differ.
    """
    need_tensor("mm", input)
    need_tensor("mm", mat2, 2, "mat2")
    if input._array.ndim != 2 or mat2._array.ndim != 2:
        raise RuntimeError(f"{'mat2' if input._array.ndim == 2 else 'self'} must be a matrix")
    return matmul(input, mat2)


@autocasts
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Return the matrix product over the last two dimensions. The result has shape [..., n, m], without n if ``input``
    is a vector, and without m if ``other`` is a vector.

    Args:
        input: shape [..., n, k], or [k].
        other: shape [..., k, m], or [k]; the dimensions ``...`` are broadcast.

    Raises:
        RuntimeError: if the shapes do not fit or the dtypes differ.
        NotImplementedError: for bools.
    """
    for i, x in enumerate((input, other)):
        need_tensor("matmul", x, i + 1)
    a, b = input._array, other._array
    if a.ndim == 0 or b.ndim == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {a.ndim}D and {b.ndim}D")
    if a.ndim == 1 and b.ndim == 1 and a.shape != b.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{a.shape[0]}] and src [{b.shape[0]}] to have the same number "
            f"of elements, but got {a.shape[0]} and {b.shape[0]} elements respectively"
        )
    inner = b.shape[-2 if b.ndim > 1 else 0]
    if a.shape[-1] != inner:
        rows = math.prod(a.shape[:-1])
        if b.ndim == 1:
            raise RuntimeError(f"size mismatch, got input ({rows}), mat ({rows}x{a.shape[-1]}), vec ({inner})")
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows}x{a.shape[-1]} and {inner}x{b.shape[-1]})"
        )
    if a.dtype != b.dtype:
        names = {**C_NAMES, "int64": "long long"}
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {names[a.dtype.name]} != {names[b.dtype.name]}"
        )
    if a.dtype.kind == "b":
        matrices = "bmm" if a.ndim > 2 and b.ndim > 2 else "addmm_impl_cpu_"
        refuse_bools("dot" if a.ndim == b.ndim == 1 else "addmv_impl_cpu" if b.ndim == 1 else matrices, input, other)
    return _matmul(input, other)


@autocasts
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """Return the product of a matrix and a vector. The result has shape [n].

    Args:
        input: shape [n, k].
        vec: shape [k].

    Raises:
        RuntimeError: if the shapes do not fit or the dtypes differ.
    """
    need_tensor("mv", input)
    need_tensor("mv", vec, 2, "vec")
    if (input._array.ndim, vec._array.ndim) != (2, 1):
        raise RuntimeError(
            f"vector + matrix @ vector expected, got {vec._array.ndim}, {input._array.ndim}, {vec._array.ndim}"
        )
    return matmul(input, vec)


@autocasts
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Return the products of two batches of matrices. The result has shape [b, n, m].

    Args:
        input: shape [b, n, k].
        mat2: shape [b, k, m].

    Raises:
        RuntimeError: if the shapes do not fit or the dtypes differ.
    """
    need_tensor("bmm", input)
    need_tensor("bmm", mat2, 2, "mat2")
    if input._array.ndim != 3 or mat2._array.ndim != 3:
        raise RuntimeError("batch1 must be a 3D tensor" if input._array.ndim != 3 else "batch2 must be a 3D tensor")
    return name_grad_fn(matmul(input, mat2), "BmmBackward0")


def dot(input: Tensor, other: Tensor) -> Tensor:
    """Return the product of two vectors. The result has no dimensions.

    Args:
        input, other: shape [n].

    Raises:
        RuntimeError: if the shapes do not fit or the dtypes differ.
    """
    need_tensor("dot", input)
    need_tensor("dot", other, 2, "tensor")
    if input._array.ndim != 1 or other._array.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {input._array.ndim}D and {other._array.ndim}D tensors")
    return matmul(input, other)


def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """Return the product of each element of ``input`` with each element of ``vec2``. The result has shape [n, m].

    Args:
        input: shape [n].
        vec2: shape [m].

    Raises:
        RuntimeError: if an argument is not a vector.
        TypeError: if an argument is not a tensor.
    """
    need_tensor("outer", input)
    need_tensor("outer", vec2, 2, "vec2")
    for name, each in (("self", input), ("vec2", vec2)):
        if each._array.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {each._array.ndim}-D")
    return _mul(input.reshape(-1, 1), vec2)


def trace(input: Tensor) -> Tensor:
    """Return the sum of the diagonal of a matrix. The result has no dimensions. The sum of integers is int64.

    Raises:
        RuntimeError: if ``input`` is not a matrix.
        NotImplementedError: if ``input`` holds bools.
        TypeError: if ``input`` is not a tensor.
    """
    need_tensor("trace", input)
    if input._array.ndim != 2:
        raise RuntimeError("trace: expected a matrix")
    if input._array.dtype == np.bool_:
        raise NotImplementedError("\"trace\" not implemented for 'Bool'")
    return name_grad_fn(TABLE["sum"](input.diagonal()), "TraceBackward0")


def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """If ``input`` is a vector, return a matrix with this vector on the diagonal and 0 elsewhere. If it is a matrix,
    return a copy of its diagonal.

    Args:
        diagonal: the number of columns by which the diagonal is moved to the right.

    Returns:
        For a vector of n elements, a tensor of shape [m, m], where m is ``n + abs(diagonal)``; for a matrix whose
        diagonal has n cells, a tensor of shape [n].

    Raises:
        RuntimeError: if ``input`` is neither a vector nor a matrix.
        TypeError: if ``input`` is not a tensor, or ``diagonal`` is not an integer.
    """
    need_tensor("diag", input)
    if input._array.ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input._array.ndim}D")
    diagonal = need_int("diag", "diagonal", diagonal, 2)
    if input._array.ndim == 1:
        return TABLE["diag_embed"](input, diagonal)
    return name_grad_fn(TABLE["clone"](input.diagonal(diagonal)), "DiagonalBackward0_copy")


def einsum(*given: Any) -> Tensor:
    """Multiply operands as an equation describes, and sum over each letter that is missing from the result.

    Args:
        given: either an equation such as "ij,jk->ik" and its operands, one by one or as one list; ``...`` in the
            equation means any number of dimensions. Or each operand with a list of numbers that name its dimensions,
            followed by such a list for the result, as in ``einsum(x, [0, 1], y, [1, 2], [0, 2])``.

    Returns:
        A tensor with the dimensions that the equation names for the result. If nothing is multiplied or summed, the
        tensor is a view of the operand.

    Raises:
        RuntimeError: if the equation and the shapes do not fit together, or if two operands of different dtypes are
            multiplied and summed.
        NotImplementedError: if bools are multiplied and summed.
        TypeError: if an operand is not a tensor.
        ValueError: if there is no argument.
    """
    if not given:
        raise ValueError("einsum(): must specify the equation string and at least one operand")
    try:
        equation, operands = (given[0], given[1:]) if isinstance(given[0], str) else equation_of("einsum", given)
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
            operands = tuple(operands[0])
        found = as_torch(contraction("einsum", equation, tuple(operands), _batched_product))
    except ValueError as error:
        raise RuntimeError(str(error)) from None
    return name_grad_fn(found, "PermuteBackward0") if found._storage is operands[0]._storage else found


def _batched_product(x: Tensor, y: Tensor) -> Tensor:
    """Return the products of two batches of matrices. Only :func:`einsum` calls this function."""
    _need_one_dtype(x, y)
    refuse_bools("bmm", x, y)
    return _matmul(x, y)


def _need_one_dtype(x: Tensor, y: Tensor) -> None:
    """Raise RuntimeError if two operands differ in dtype."""
    a, b = x._array.dtype, y._array.dtype
    if a != b:
        raise RuntimeError(f"expected scalar type {SCALAR_NAMES[a]} but found {SCALAR_NAMES[b]}")


def inner(input: Tensor, other: Tensor) -> Tensor:
    """Return the dot product of each vector along the last dimension of ``input`` with each vector along the last
    dimension of ``other``.

    The shape of the result is that of ``input`` without the last dimension, followed by that of ``other`` without the
    last dimension.

    Args:
        input, other: of shapes [..., n] and [..., n]. If one has no dimensions, the result is ``input * other``.

    Raises:
        RuntimeError: if the last dimensions differ in length.
        TypeError: if an argument is not a tensor.
    """
    need_tensor("inner", input)
    need_tensor("inner", other, 2, "other")
    a, b = input._array.shape, other._array.shape
    if not a or not b:
        return _mul(input, other)
    if a[-1] != b[-1]:
        raise RuntimeError(
            f"inner() the last dimension must match on both input tensors but got shapes {list(a)} and {list(b)}"
        )
    if len(a) == len(b) == 1:
        return matmul(input, other)
    rows, columns = math.prod(a[:-1]), math.prod(b[:-1])
    return matmul(input.reshape(rows, a[-1]), other.reshape(columns, b[-1]).t()).reshape((*a[:-1], *b[:-1]))


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """Return the p-norm of the difference between each row of ``x1`` and each row of ``x2``. The result has shape
    [..., n, m]. If two rows are equal, the gradient of their distance is 0.

    Args:
        x1: of shape [..., n, k].
        x2: of shape [..., m, k]; the dimensions ``...`` are broadcast.
        p: a number, at least 0, or inf.
        compute_mode: ignored. PyTorch may use a matrix product; minitensor always subtracts the rows.

    Raises:
        RuntimeError: if the shapes do not fit, ``x1`` and ``x2`` are not floats of one dtype, or ``p`` is below 0.
        TypeError: if ``x1`` or ``x2`` is not a tensor, or ``p`` is not a number.
    """
    need_tensor("cdist", x1, name="x1")
    need_tensor("cdist", x2, 2, "x2")
    for name, x in (("X1", x1), ("X2", x2)):
        if x._array.dtype not in FLOATS:
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {SCALAR_NAMES[x._array.dtype]}")
        if x._array.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x._array.ndim}D")
    if x1._array.shape[-1] != x2._array.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x1._array.shape[-1]} X2: {x2._array.shape[-1]}"
        )
    if x1._array.size and x2._array.size:
        _need_one_dtype(x1, x2)
    p = checks.real("cdist()", "p", p)
    if not p >= 0:
        raise RuntimeError("cdist only supports non-negative p values")
    return name_grad_fn(as_result(row_norms(x1.unsqueeze(-2) - x2.unsqueeze(-3), float(p))), "CdistBackward0")
