"""What an in-place operation keeps, for its own backward, of the operand that it is about to overwrite.

Either a copy of it, or, where the rules ask only what is true or false of each element, those marks: one bit each.
"""

from __future__ import annotations

import numpy as np

from minitensor.core.errors import needs_own_input
from minitensor.core.history import Saved
from minitensor.core.regions import same_layout
from minitensor.core.storage import Storage, new_storage
from minitensor.device.counters import cpu_meter
from minitensor.kernels.chunks import copied, large
from minitensor.modes import modes
from minitensor.saving.cells import Cells, touch
from minitensor.saving.patches import Patch


def own_input(op: str, a: np.ndarray) -> Saved:
    """A copy of ``a``.

    Raises:
        ValueError: under the policy "2.5".
    """
    if modes.policy == "2.5":
        raise needs_own_input(op)
    kept = a.copy() if cpu_meter.allocated < large.nbytes else copied(a)
    return kept, new_storage(kept), 0


def alias_input(op: str, b: np.ndarray, storage: Storage, a: np.ndarray, own: Saved | None) -> Saved:
    """What backward needs of an operand that lies on the storage whose part ``a`` is about to be overwritten."""
    if own is not None:
        if same_layout(a, b):
            return own
        shown = Patch(Cells.of(a), own[0], storage=own[1]).shown(b)
        if shown is not None:  # a view of what is overwritten is saved as the same view of its copy
            return shown, own[1], 0
    # Untouched, it is still right after the write, which makes one version more.
    return own_input(op, b) if touch(a, b) else (b, storage, storage.version + 1)


def kept_marks(marks: np.ndarray, op: str | None = None) -> Saved:
    """Marks, packed: 1/32 of the bytes of a float32 tensor. ``op`` is given where they are of what it overwrites.

    Raises:
        ValueError: then, under the policy "2.5".
    """
    if op is not None and modes.policy == "2.5":
        raise needs_own_input(op)
    packed = np.packbits(marks)
    return packed, new_storage(packed), 0


def unpacked(saved: Saved, shape: tuple[int, ...]) -> np.ndarray:
    """The marks again, as bools of ``shape``."""
    bits = np.unpackbits(saved[0])
    return bits[: int(np.prod(shape, dtype=np.int64))].view(np.bool_).reshape(shape)
