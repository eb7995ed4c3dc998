"""Methods of the reference's tensor that index, copy and overwrite elements."""

from __future__ import annotations

import numpy as np

from . import cells as c
from .calculus import Dual, constant, spread
from .dtypes import DTYPES, is_float


def is_tensor(part) -> bool:
    return isinstance(part, Elements)


def is_advanced(part) -> bool:
    return isinstance(part, (list, np.ndarray)) or is_tensor(part)


class Elements:
    """Mixin of ``CellTensor`` with the methods that index, copy and overwrite elements."""

    # ---- copies ------------------------------------------------------------------------------------------------------

    def split(self, num_or_sections, axis=0) -> list[Elements]:
        sections = num_or_sections
        if not isinstance(sections, int):
            sections = np.cumsum(sections)[:-1]
        return [self.gather(part) for part in np.split(self.cells, sections, axis)]

    def cast(self, dtype) -> Elements:
        if not is_float(DTYPES[dtype]):
            return self.world.fresh(constant(self.numpy().astype(DTYPES[dtype])))
        out = self.world.clone(self)
        out.storage.values = out.storage.values.astype(DTYPES[dtype])
        return out

    def chunk(self, chunks, axis=0) -> list[Elements]:
        return self.split(chunks, axis)

    def gather(self, cells: np.ndarray, index_tensors: list[Elements] = (), holds: bool = False) -> Elements:
        return self.world.gather(self, cells, list(index_tensors), holds)

    # ---- indices -----------------------------------------------------------------------------------------------------

    def select(self, index) -> tuple[np.ndarray, list[Elements] | None]:
        """Return the cells that ``index`` selects, and a list of the tensors in the index. For a basic index, which
        selects a view, None replaces the list.
        """
        parts = index if isinstance(index, tuple) else (index,)
        plain = tuple(part.numpy() if is_tensor(part) else part for part in parts)
        tensors = [part for part in parts if is_tensor(part)]
        advanced = any(is_advanced(part) for part in parts)
        if not advanced and Ellipsis not in plain:
            plain = (*plain, Ellipsis)  # with an ellipsis numpy returns a view even of a single element
        try:
            return self.cells[plain], tensors if advanced else None
        except IndexError:
            return self.world.refuse([c.INDEX])

    def __getitem__(self, index) -> Elements:
        cells, tensors = self.select(index)
        return self.make_view(cells) if tensors is None else self.gather(cells, tensors, holds=True)

    def __setitem__(self, index, value) -> None:
        cells, tensors = self.select(index)
        self.store(cells, value, tensors)

    def store(self, cells: np.ndarray, value, tensors: list[Elements] | None) -> None:
        """Broadcast ``value`` to some cells and write it into them."""
        world = self.world
        must, may = world.unwritable(self), world.doubtful(self)
        if c.OVERLAP in must and not (tensors is None and c.overlaps_itself(cells)):
            must.remove(c.OVERLAP)
            may.append(c.OVERLAP)
        x = world.dual(value)
        wants = world.wants(value) or world.wants(self)
        try:
            x = Dual(np.broadcast_to(x.v, cells.shape), spread(x.t, cells.shape))
        except ValueError:
            must.append(c.MISFIT)
        world.refuse(must, may)
        parents = [t.group.record for t in (self, value) if world.wants(t)]
        world.write(self, cells, x, wants)
        if wants:
            saves = [c.Saved.of(i) for i in tensors or []]
            self.group.record = c.Record(parents, saves, holds=tensors is not None)

    def copy_(self, other) -> Elements:
        if other.cells.shape != self.cells.shape:
            self.world.refuse([c.SHAPE])
        self.store(self.cells, other, None)
        return self

    def set_value(self, value) -> None:
        values = np.asarray(value)
        if values.shape != self.cells.shape:
            self.world.refuse([c.MISFIT])
        mode = self.world.grad_mode(self.group.leaf is None and self.world.grad_enabled)
        with mode:
            self.store(self.cells, values, None)
