"""Save an operand for the backward of the in-place operation that is about to overwrite it.

Usually the operand is copied. If the gradient rules need only a bool for each element, these bools (*marks*) are saved
instead, as packed bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from minitensor.engine.core.errors import needs_own_input
from minitensor.engine.core.history import Saved
from minitensor.engine.core.regions import same_layout
from minitensor.engine.core.storage import new_storage
from minitensor.engine.device.counters import cpu_meter
from minitensor.engine.kernels.chunks import copied, large
from minitensor.engine.kernels.sixteen_bits import wide_on_host
from minitensor.engine.modes import modes
from minitensor.engine.saved.cells import Cells, touch
from minitensor.engine.saved.patches import Patch

if TYPE_CHECKING:
    from minitensor.engine.core.history import Node
    from minitensor.engine.core.tensor import Tensor


def own_input(op: str, x: Tensor, *nodes: Node | None) -> Saved:
    """Return a saved copy of ``x``, which ``op`` is about to overwrite.

    Args:
        nodes: the nodes of the operands, for the error.

    Raises:
        ValueError: under the policy "2.5".
    """
    if modes.policy == "2.5":
        raise needs_own_input(op, x, *nodes)
    return copy_of(x._array)


def copy_of(a: np.ndarray) -> Saved:
    """Return a saved copy of ``a``, on a new storage."""
    copy = a.copy() if cpu_meter.allocated < large.nbytes else copied(a)
    return copy, new_storage(copy), 0


def alias_input(op: str, b: np.ndarray, x: Tensor, own: Saved | None, *nodes: Node | None) -> Saved:
    """Return ``b`` as a saved value; a copy of it if ``op``, which writes ``x`` on the same storage, overwrites ``b``.

    Args:
        own: the saved copy of ``x``, if the rules also need ``x``; otherwise None. It also serves as the copy of
            ``b`` if ``b`` is a view of ``x``.
        nodes: the nodes of the operands, for the error.

    Raises:
        ValueError: under the policy "2.5", if the write overwrites elements of ``b``.
    """
    a = x._array
    if own is not None:
        if same_layout(a, b):
            return own
        view = Patch(Cells.of(a), own[0], storage=own[1]).view_for(b) if a.dtype == b.dtype else None
        if view is not None:  # `b` is a view of `x`: save the same view of the copy
            return view, own[1], 0
    # If `b` is not overwritten, its values are still valid at the next version, which the storage has after the write.
    if not touch(a, b):
        return b, x._storage, x._storage.version + 1
    if modes.policy == "2.5":
        raise needs_own_input(op, x, *nodes)
    return copy_of(b)


def saved_marks(marks: np.ndarray, op: str = "", x: Tensor | None = None, *nodes: Node | None) -> Saved:
    """Return marks as a saved value: packed bits, which take 1/32 of the bytes of a float32 tensor.

    Args:
        op: the name of the operation, for the error.
        x: the operand that the operation is about to overwrite, if the marks were computed from it; otherwise None.
        nodes: the nodes of the operands, for the error.

    Raises:
        ValueError: under the policy "2.5", if ``x`` is given.
    """
    if x is not None and modes.policy == "2.5":
        raise needs_own_input(op, x, *nodes)
    packed = np.packbits(marks)
    return packed, new_storage(packed), 0


def unpacked(saved: Saved, shape: tuple[int, ...], half: Any = None) -> np.ndarray:
    """Return saved marks as bools of ``shape``.

    ``half`` is the gradient if its elements have 16 bits, else None. With 16 bits, rules compute on the host.
    """
    bits = np.unpackbits(saved[0] if half is None else wide_on_host(saved[0]))
    return bits[: int(np.prod(shape, dtype=np.int64))].view(np.bool_).reshape(shape)
