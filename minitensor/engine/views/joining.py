"""Join, split and repeat tensors, and convert their dtype.

As in Paddle, ``split``, ``chunk``, ``expand`` and ``broadcast_to`` return copies. In PyTorch's vocabulary, they return
views.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.checks import shown
from minitensor.engine.core.errors import devices_differ
from minitensor.engine.core.history import Node, Operation, new_node, repeated
from minitensor.engine.core.regions import Pick
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.creation.making import as_lengths, as_shape
from minitensor.engine.device.arrays import gpu_of
from minitensor.engine.dtypes import dtype_of
from minitensor.engine.modes import modes, paused
from minitensor.engine.operations.arguments import as_axis, need_tensor
from minitensor.engine.operations.operands import cast, promote
from minitensor.engine.views.parts import part_backward, part_jvp


def _record(out: Tensor, op: Operation, inputs: Sequence[Tensor], saved: tuple[Any, ...]) -> Tensor:
    if not paused.threads or modes.grad:
        nodes = tuple(x._current() for x in inputs)
        if any(node is not None for node in nodes):
            out._node = new_node(op, nodes, saved, out._array.shape)
    return out


def _tensors(op: str, x: Any) -> tuple[Tensor, ...]:
    if not isinstance(x, (list, tuple)) or not x:
        raise TypeError(f"{op} takes a list of tensors, not {shown(x)}")
    for item in x:
        need_tensor(op, item)
    if len({gpu_of(item._array) for item in x}) > 1:
        raise devices_differ(op, tuple(item._array for item in x))
    return promote(*x)


# ---------- join ----------


def _concat_backward(node: Node, g: np.ndarray) -> list[np.ndarray]:
    axis, lengths = node.saved
    return np.split(g, list(accumulate(lengths))[:-1], axis)


def _stack_backward(node: Node, g: np.ndarray) -> list[np.ndarray]:
    (axis,) = node.saved
    return [g[(slice(None),) * axis + (i, ...)] for i in range(len(node.inputs))]


def _concat_jvp(node: Node, i: int, u: np.ndarray) -> np.ndarray:
    axis, lengths = node.saved
    joined = np.zeros(node.shape, u.dtype, like=u)
    begin = sum(lengths[:i])
    joined[(slice(None),) * axis + (slice(begin, begin + lengths[i]),)] = u
    return joined


def _stack_jvp(node: Node, i: int, u: np.ndarray) -> np.ndarray:
    (axis,) = node.saved
    stacked = np.zeros(node.shape, u.dtype, like=u)
    stacked[(slice(None),) * axis + (i,)] = u
    return stacked


CONCAT = Operation("concat", _concat_backward, jvp=_concat_jvp)
STACK = Operation("stack", _stack_backward, jvp=_stack_jvp)


def concat(x: Sequence[Tensor], axis: int = 0, name: str | None = None) -> Tensor:
    """Concatenate tensors along ``axis`` into a new storage.

    Raises:
        ValueError: if the shapes differ in another dimension than ``axis``.
        IndexError: if the tensors do not have that axis.
        TypeError: if ``x`` is not a list of tensors.
    """
    tensors = _tensors("concat", x)
    arrays = [t._array for t in tensors]
    axis = as_axis("concat", axis, arrays[0].ndim)
    for array in arrays[1:]:
        rest = [s[:axis] + s[axis + 1 :] for s in (array.shape, arrays[0].shape)]
        if array.ndim != arrays[0].ndim or rest[0] != rest[1]:
            shapes = ", ".join(str(t.shape) for t in tensors)
            raise ValueError(f"concat: shapes {shapes} must agree in every dimension but {axis}")
    out = Tensor._made(np.concatenate(arrays, axis), "concat", tensors)
    return _record(out, CONCAT, tensors, (axis, [a.shape[axis] for a in arrays]))


def stack(x: Sequence[Tensor], axis: int = 0, name: str | None = None) -> Tensor:
    """Stack tensors of one shape along a new ``axis``, into a new storage.

    Raises:
        ValueError: if shapes differ.
        IndexError: if the result does not have that axis.
        TypeError: if ``x`` is not a list of tensors.
    """
    tensors = _tensors("stack", x)
    arrays = [t._array for t in tensors]
    if any(array.shape != arrays[0].shape for array in arrays):
        raise ValueError(f"stack: shapes {', '.join(str(t.shape) for t in tensors)} must be equal")
    axis = as_axis("stack", axis, arrays[0].ndim + 1)
    return _record(Tensor._made(np.stack(arrays, axis), "stack", tensors), STACK, tensors, (axis,))


# ---------- split ----------


#: The operation of a copied part. Its gradient is that of a view of the part.
SPLIT = Operation("split", part_backward, jvp=part_jvp)


def split(x: Tensor, num_or_sections: Any, axis: int = 0, name: str | None = None) -> list[Tensor]:
    """Return copies of parts of ``x`` along ``axis``.

    Args:
        num_or_sections: the number of equal parts, or a list of lengths, of which one may be -1 (the rest).

    Raises:
        ValueError: if the parts do not fill the dimension, or if it cannot be divided into that many equal parts.
        IndexError: if ``x`` does not have that axis.
        TypeError: if ``num_or_sections`` is neither an integer nor a list of integers, or if ``x`` is not a tensor.
    """
    return _split("split", x, num_or_sections, axis)


def _split(op: str, x: Tensor, num_or_sections: Any, axis: int) -> list[Tensor]:
    """Return copies of parts of ``x``, as :func:`split` does. Errors name ``op``."""
    need_tensor(op, x)
    axis = as_axis(op, axis, x._array.ndim)
    length = x._array.shape[axis]
    if not isinstance(num_or_sections, (list, tuple)):
        num_or_sections = checks.integer(op, "num_or_sections", num_or_sections)
        if num_or_sections < 1 or length % num_or_sections:
            raise ValueError(f"{op}: a dimension of length {length} has no {num_or_sections} equal parts")
        lengths = [length // int(num_or_sections)] * int(num_or_sections)
    else:
        lengths = checks.integers(op, "num_or_sections", num_or_sections)
        if lengths.count(-1) == 1:
            lengths[lengths.index(-1)] = length - (sum(lengths) + 1)
        if sum(lengths) != length or min(lengths, default=-1) < 0:
            raise ValueError(f"{op}: parts of lengths {num_or_sections} do not fill a dimension of length {length}")
    parts, start = [], 0
    for n in lengths:
        pick = Pick((slice(None),) * axis + (slice(start, start + n),))
        out = Tensor._made(pick(x._array).copy(), "split", (x,))
        parts.append(_record(out, SPLIT, (x,), (pick,)))
        start += n
    return parts


def chunk(x: Tensor, chunks: int, axis: int = 0, name: str | None = None) -> list[Tensor]:
    """Return copies of the ``chunks`` equal parts of ``x`` along ``axis``.

    Raises:
        ValueError: if the dimension cannot be divided into that many equal parts.
        IndexError: if ``x`` does not have that axis.
        TypeError: if ``chunks`` is not an integer, or if ``x`` is not a tensor.
    """
    return _split("chunk", x, chunks, axis)


# ---------- repeat ----------


#: The operation of a repeated copy. The engine sums the gradient to the shape of the input.
EXPAND = Operation("expand", lambda node, g: (g,), jvp=lambda node, _, u: repeated(u, node.shape))


def expand(x: Tensor, shape: Any, name: str | None = None) -> Tensor:
    """Return a copy of ``x`` repeated to ``shape``; a length of -1 keeps the dimension.

    Raises:
        ValueError: if a length in ``x`` is neither 1 nor the length in ``shape``, or if ``shape`` has fewer dimensions.
        TypeError: if ``shape`` is not a list of integers, or if ``x`` is not a tensor.
    """
    return _expand("expand", x, shape)


def _expand(op: str, x: Tensor, shape: Any) -> Tensor:
    """Return a copy of ``x`` repeated to ``shape``. Errors name ``op``."""
    need_tensor(op, x)
    old = x._array.shape
    if isinstance(shape, Tensor):
        shape = shape.tolist()
    if not isinstance(shape, (list, tuple)):
        raise TypeError(f"{op}: a shape must be a list of integers, not {shown(shape)}")
    new = as_lengths(op, shape)
    missing = len(new) - len(old)
    new = [old[i - missing] if n == -1 and i >= missing else n for i, n in enumerate(new)]
    lengths = as_shape(op, new)
    try:
        expanded = np.broadcast_to(x._array, lengths).copy()
    except ValueError:
        raise ValueError(
            f"{op}: a tensor of shape {x.shape} cannot be repeated to {list(lengths)}: counted from the last, each "
            f"dimension must be 1 or have the new length"
        ) from None
    return _record(Tensor._made(expanded, "expand", (x,)), EXPAND, (x,), ())


def broadcast_to(x: Tensor, shape: Any, name: str | None = None) -> Tensor:
    """Return a copy of ``x`` repeated to ``shape``; a length of -1 keeps the dimension.

    Raises:
        ValueError: if a length in ``x`` is neither 1 nor the length in ``shape``, or if ``shape`` has fewer dimensions.
        TypeError: if ``shape`` is not a list of integers, or if ``x`` is not a tensor.
    """
    return _expand("broadcast_to", x, shape)


def expand_as(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """Return a copy of ``x`` repeated to the shape of ``y``.

    Raises:
        ValueError: if a length in ``x`` is neither 1 nor the length in the shape of ``y``.
        TypeError: if ``x`` or ``y`` is not a tensor.
    """
    need_tensor("expand_as", y, "y")
    return _expand("expand_as", x, y._array.shape)


# ---------- cast ----------


def astype(x: Tensor, dtype: Any) -> Tensor:
    """Return a copy of ``x`` in another dtype.

    Returns:
        A tensor of the shape of ``x``.

    Raises:
        TypeError: if a tensor cannot have that dtype, or if ``x`` is not a tensor.
    """
    need_tensor("astype", x)
    return cast(x, dtype_of(dtype).numpy)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "concat": concat, "stack": stack, "split": split, "chunk": chunk, "expand": expand, "broadcast_to": broadcast_to,
    "expand_as": expand_as, "cast": astype,
}  # fmt: skip

for _name in ("split", "chunk", "expand", "expand_as", "broadcast_to", "cast"):
    setattr(Tensor, _name, FUNCTIONS[_name])
Tensor.astype = astype
