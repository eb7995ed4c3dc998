"""Methods of the reference's tensor that take views or change only the shape.

A view is a numpy view of the storage's numbered cells, so offset, strides and overlap are numpy's.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.lib.stride_tricks import as_strided

from . import cells as c
from .calculus import constant


def squeezed(cells: np.ndarray, axis: int | None) -> np.ndarray:
    """Return the array without dimension ``axis`` (None: every dimension) if its length is 1, as in Paddle."""
    if axis is None:
        return cells.squeeze()
    return cells.squeeze(axis) if cells.shape[axis] == 1 else cells[...]


def flattened(cells: np.ndarray, start: int, stop: int) -> np.ndarray:
    """Return the array with the dimensions from ``start`` to ``stop`` merged into one."""
    if cells.ndim == 0:
        return cells.reshape(1)
    if not all(-cells.ndim <= axis < cells.ndim for axis in (start, stop)):
        raise IndexError("no such axis")
    start, stop = start % cells.ndim, stop % cells.ndim
    merged = math.prod(cells.shape[start : stop + 1])
    return cells.reshape(*cells.shape[:start], merged, *cells.shape[stop + 1 :])


def unflattened(cells: np.ndarray, axis: int, lengths: list[int]) -> np.ndarray:
    """Return the array with dimension ``axis`` split into several, by the rules of Paddle 3.3 for 0 and -1."""
    if not -cells.ndim <= axis < cells.ndim:
        raise IndexError("no such axis")
    axis %= cells.ndim
    shape = [*cells.shape[:axis], *lengths, *cells.shape[axis + 1 :]]
    if cells.size:  # a 0 keeps the length of that dimension
        shape = [cells.shape[i] if n == 0 and i < cells.ndim else n for i, n in enumerate(shape)]
    elif shape.count(-1) == 1:  # numpy cannot compute this length if the array is empty
        whole, known = (math.prod(n for n in lengths if n > 0) for lengths in (cells.shape, shape))
        if 0 not in shape:
            shape[shape.index(-1)] = 0
        elif shape.count(0) == cells.shape.count(0) and whole % known == 0:
            shape[shape.index(-1)] = whole // known
    return cells.reshape(shape)


class Views:
    """Mixin of ``CellTensor`` with the methods that take views or change only the shape."""

    def make_view(self, cells: np.ndarray) -> Views:
        return self.world.make_view(self, cells)

    def detach(self) -> Views:
        return self.world.alias(self)

    def shaped(self, change, *args) -> np.ndarray:
        """Return the cells in the shape that ``change`` gives them. Refuse the operation if the arguments do not fit.

        The result is a copy if no strides give that shape.
        """
        try:
            return change(self.cells, *args)
        except (ValueError, IndexError, TypeError):
            return self.world.refuse([c.MISFIT])

    def holds(self, cells: np.ndarray) -> bool:
        """True if ``cells`` is still a view of the storage's cells. numpy returns a copy if no strides give the
        requested shape.
        """
        return cells.size == 0 or np.may_share_memory(cells, self.storage.cells)

    def reshape(self, shape) -> Views:
        return self.viewed_or_copied(self.shaped(np.reshape, shape))

    def needs_copy(self, cells: np.ndarray) -> bool:
        """True if no strides give the shape, or if a tensor without dimensions gets some (Paddle copies it then)."""
        return not self.holds(cells) or (self.cells.ndim == 0 and cells.ndim > 0)

    def viewed_or_copied(self, cells: np.ndarray) -> Views:
        return self.copied(cells.shape) if self.needs_copy(cells) else self.make_view(cells)

    def view(self, shape) -> Views:
        cells = self.shaped(np.reshape, shape)
        if self.needs_copy(cells):
            self.world.refuse([c.MISFIT])
        return self.make_view(cells)

    def copied(self, shape) -> Views:
        out = self.world.clone(self)
        out.cells = out.storage.cells.reshape(shape)
        out.group.base = c.layout(out.cells)
        return out

    def transpose(self, perm) -> Views:
        return self.make_view(self.shaped(np.transpose, perm))

    def t(self) -> Views:
        return self.make_view(self.cells.T)

    @property
    def T(self) -> Views:
        return self.make_view(self.cells.T)

    def squeeze(self, axis=None) -> Views:
        return self.make_view(self.shaped(squeezed, axis))

    def unsqueeze(self, axis) -> Views:
        return self.make_view(self.shaped(np.expand_dims, axis))

    def flatten(self, start_axis=0, stop_axis=-1) -> Views:
        return self.viewed_or_copied(self.shaped(flattened, start_axis, stop_axis))

    def unflatten(self, axis, shape) -> Views:
        return self.make_view(self.shaped(unflattened, axis, shape))

    def slice(self, axes, starts, ends) -> Views:
        index = [slice(None)] * self.cells.ndim
        for axis, start, end in zip(axes, starts, ends, strict=True):
            index[axis] = slice(start, end)
        return self.make_view(self.cells[tuple(index)])

    def diagonal(self, offset=0, axis1=0, axis2=1) -> Views:
        return self.make_view(self.shaped(np.diagonal, offset, axis1, axis2))

    def unbind(self, axis=0) -> list[Views]:
        return [self.make_view(part[..., 0]) for part in np.moveaxis(self.cells, axis, 0)[..., None]]

    def __iter__(self):
        return iter(self.unbind(0))

    def as_strided(self, shape, stride, offset=0) -> Views:
        last = offset + sum((n - 1) * s for n, s in zip(shape, stride, strict=True))
        if not 0 <= offset <= last < self.storage.values.size:
            self.world.refuse([c.INDEX])
        start = self.storage.cells[offset:]
        return self.make_view(as_strided(start, shape, [start.itemsize * s for s in stride]))

    # ---- in place, shape only ----------------------------------------------------------------------------------------

    def relayout(self, cells: np.ndarray) -> Views:
        """Change the shape in place. The tensor keeps the same cells, and no value is written."""
        if self.world.grad_enabled and self.group.leaf is not None:
            self.world.refuse([c.LEAF])
        if not self.holds(cells):
            self.world.refuse([c.MISFIT])
        # The gradient must keep the shape of its tensor, so the shape of the gradient changes as well.
        if self.grad is not None and cells.tolist() != self.cells.tolist():
            place = {cell: i for i, cell in enumerate(self.cells.ravel().tolist())}
            order = np.array([place[cell] for cell in cells.ravel().tolist()], int).reshape(cells.shape)
            noise = np.broadcast_to(self.grad.noise, self.grad.cells.shape)
            if self.group.leaf is self:  # a new tensor, so that other references to the gradient keep the old shape
                old = self.grad
                self.grad = self.world.fresh(constant(old.numpy().ravel()[order]))
                self.grad.storage.is_gradient = True
            else:
                self.grad.cells = self.grad.cells.ravel()[order]
            self.grad.noise = noise.ravel()[order]
        self.cells = cells
        self.world.reshaped(self)
        return self

    def reshape_(self, shape) -> Views:
        return self.relayout(self.shaped(np.reshape, shape))

    def transpose_(self, perm) -> Views:
        return self.relayout(self.shaped(np.transpose, perm))

    def t_(self) -> Views:
        return self.relayout(self.cells.T)

    def squeeze_(self, axis=None) -> Views:
        return self.relayout(self.shaped(squeezed, axis))

    def unsqueeze_(self, axis) -> Views:
        return self.relayout(self.shaped(np.expand_dims, axis))

    def flatten_(self, start_axis=0, stop_axis=-1) -> Views:
        return self.relayout(self.shaped(flattened, start_axis, stop_axis))
