"""Which values there are, how often, and classes as rows of zeros with a one: their answers have no gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitensor.core.history import Node, Operation, new_node
from minitensor.device.arrays import host_array, like
from minitensor.modes import modes
from minitensor.torch.naming import Renamed, need_tensor, plain
from minitensor.torch.tensor import Tensor, as_dim


def _no_derivative(name: str, shown: str) -> Operation:
    """An operation that is recorded, and whose derivative backward asks for in vain."""

    def backward(node: Node, g: Any) -> Any:
        raise NotImplementedError(
            f"the derivative for '{name}' is not implemented.\n"
            "Which values there are has no derivative: use x.detach().unique()."
        )

    op = Renamed(name, backward)
    op.torch_name, op.operands = shown, ()
    op.later = lambda: backward
    return op


_UNIQUE = _no_derivative("_unique2", "Unique2Backward0")
_UNIQUE_DIM = _no_derivative("unique_dim", "UniqueDimBackward0")


def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The values of ``input`` (its slices along ``dim``), each once and in order.

    Returns:
        The values, which want a gradient where ``input`` does, and have none; with ``return_inverse`` also which of
        them each element is; with ``return_counts`` how often each is.

    Raises:
        IndexError: for a dimension that ``input`` does not have.
        TypeError: when ``input`` is no tensor.
    """
    need_tensor("unique", input)
    array = host_array(input._array)
    if dim is not None:
        dim = as_dim(dim, array.ndim)
    found = np.unique(array, return_inverse=True, return_counts=True, axis=dim, equal_nan=False)
    values, inverse, counts = found
    inverse = inverse.reshape(array.shape if dim is None else (array.shape[dim],))
    asked = ((inverse, return_inverse), (counts, return_counts))
    answers = [values, *(each.astype(np.int64) for each, wanted in asked if wanted)]
    made = tuple(plain(input, like(np.ascontiguousarray(each), input._array), "unique") for each in answers)
    source = input._current()
    if modes.grad and source is not None:
        op = _UNIQUE if dim is None else _UNIQUE_DIM
        made[0]._node = new_node(op, (source,), (), made[0]._array.shape)
    return made if len(made) > 1 else made[0]


def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each whole number from 0 on is in ``input``; with ``weights``, the sum of its weights.

    Args:
        input: whole numbers that are not negative, shape [n].
        weights: shape [n], too.

    Raises:
        NotImplementedError: for a dtype with fractions.
        RuntimeError: for a negative number, or another shape.
    """
    need_tensor("bincount", input)
    array = host_array(input._array)
    if array.dtype.kind != "i":
        raise NotImplementedError(f"\"bincount_cpu\" not implemented for '{input.dtype}': it counts whole numbers")
    if array.ndim != 1 or (array.size and int(array.min()) < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    counts = np.bincount(array, None if weights is None else host_array(weights._array), minlength)
    if weights is None:
        counts = counts.astype(np.int64)
    return plain(input, like(counts, input._array), "bincount")


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Rows of zeros with a 1 at the class that each element names; as many classes as are needed by default.

    Args:
        tensor: int64, of any shape.

    Returns:
        An int64 tensor of that shape with one dimension more, of length ``num_classes``.

    Raises:
        RuntimeError: when an element is no int64, or no class.
    """
    need_tensor("one_hot", tensor)
    array = host_array(tensor._array)
    if array.dtype != np.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if array.size == 0 and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if array.size and array.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        num_classes = int(array.max()) + 1
    elif array.size and array.max() >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    hot = (array[..., None] == np.arange(num_classes)).astype(np.int64)
    return plain(tensor, like(hot, tensor._array), "one_hot")
