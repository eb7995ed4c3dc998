"""Products, and the sum of several tensors, under Paddle's names, composed of operations with gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minitensor.engine.core.tensor import Tensor
from minitensor.engine.dtypes import int32
from minitensor.engine.operations import FUNCTIONS as TABLE
from minitensor.engine.operations.arguments import need_tensor
from minitensor.engine.operations.operands import as_operands


def dot(x: Tensor, y: Tensor) -> Tensor:
    """Return the dot product of two vectors, or of each row of ``x`` and the same row of ``y``.

    Args:
        x, y: two vectors [n], or two matrices [b, n].

    Returns:
        A tensor without dimensions for vectors; of shape [b] for matrices.

    Raises:
        ValueError: if the shapes differ, or have neither one nor two dimensions.
        TypeError: if an operand is not a tensor.
    """
    _need_two("dot", x, y)
    if x.ndim not in (1, 2) or x.shape != y.shape:
        raise ValueError(
            f"dot: x and y must be vectors of one length or matrices of one shape, but the shapes are {x.shape} and "
            f"{y.shape}"
        )
    product = x * y
    total = TABLE["sum"](product, -1)
    return total.astype("int32") if product.dtype == int32 else total


def _need_two(op: str, x: Any, y: Any) -> None:
    need_tensor(op, x)
    if not isinstance(y, Tensor):
        raise TypeError(f"{op}: y must be a Tensor, not {type(y).__name__}")


def _product(op: str, x: Tensor, y: Tensor) -> Tensor:
    try:
        return TABLE["matmul"](x, y)
    except ValueError as error:  # let the message name the function that the program called
        raise ValueError(str(error).replace("matmul", op, 1)) from None


def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """Return the product of two matrices, as ``matmul`` computes it. The result has shape [n, m].

    Args:
        input: shape [n, k].
        mat2: shape [k, m].

    Raises:
        TypeError: if an operand is not a tensor, number or array.
        ValueError: if the shapes do not fit, or if an operand has no dimension.
    """
    x, y = as_operands("mm", input, mat2)
    if not (x.ndim and y.ndim):
        raise ValueError(f"mm: operands must have at least one dimension, but the shapes are {x.shape} and {y.shape}")
    return _product("mm", x, y)


def bmm(x: Tensor, y: Tensor) -> Tensor:
    """Return the products of two batches of matrices. The result has shape [b, n, m].

    Args:
        x: shape [b, n, k].
        y: shape [b, k, m].

    Raises:
        ValueError: if an operand does not have 3 dimensions, or if the batch sizes or the matrices do not fit.
        TypeError: if an operand is not a tensor.
    """
    _need_two("bmm", x, y)
    if x.ndim != 3 or y.ndim != 3:
        raise ValueError(
            f"bmm: both must be stacks of matrices, of 3 dimensions, but the shapes are {x.shape} and {y.shape}"
        )
    if x.shape[0] != y.shape[0]:
        raise ValueError(
            f"bmm: both stacks must hold equally many matrices, but they hold {x.shape[0]} and {y.shape[0]}"
        )
    return _product("bmm", x, y)


def add_n(inputs: Tensor | Sequence[Tensor]) -> Tensor:
    """Return the sum of the tensors, on a new storage.

    Args:
        inputs: one tensor, or several tensors of the same shape. The result has this shape, too.

    Raises:
        TypeError: if ``inputs`` is not a tensor, or a list or tuple of tensors.
        ValueError: if ``inputs`` is empty, or if the shapes differ.
    """
    given = [inputs] if isinstance(inputs, Tensor) else inputs
    if not isinstance(given, (list, tuple)) or not all(isinstance(x, Tensor) for x in given):
        kinds = [type(x).__name__ for x in given] if isinstance(given, (list, tuple)) else type(given).__name__
        raise TypeError(f"add_n: inputs must be a Tensor or a list of Tensors, not {kinds}")
    if not given:
        raise ValueError("add_n: inputs must have at least one tensor, but it is empty")
    if any(x.shape != given[0].shape for x in given):
        raise ValueError(
            f"add_n: the tensors must have one shape, but the shapes are {[x.shape for x in given]}; `+` broadcasts"
        )
    total = TABLE["clone"](given[0])
    for x in given[1:]:
        total = total + x
    return total


#: The functions that the package ``minitensor`` and the tensors get from this module, keyed by name.
FUNCTIONS: dict[str, Callable[..., Any]] = {function.__name__: function for function in (dot, mm, bmm, add_n)}

for _name, _function in FUNCTIONS.items():
    setattr(Tensor, _name, _function)
