"""The reference's tensor: a storage, a family, and the cells it looks at.

Promises: ``cells`` is a numpy view of the storage's own numbering of cells. Taking a view of a tensor is taking a numpy
view of that numbering, so offset, strides and overlap are those that numpy gives, never computed a second time.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import as_strided

from . import cells as c
from .calculus import MARGIN, Dual, constant, require, spread


def layout(cells: np.ndarray) -> tuple:
    """(offset, shape, strides) in elements. The offset of the first element is the number of its cell."""
    return cells.item(0) if cells.size else 0, cells.shape, tuple([s // cells.itemsize for s in cells.strides])


def is_advanced(part) -> bool:
    return isinstance(part, (list, np.ndarray, CellTensor))


class CellTensor:
    """Some cells of a storage, in some order and shape."""

    __array_ufunc__ = None  # numpy leaves ``array + tensor`` to the tensor

    def __init__(self, world, storage: c.Storage, family: c.Family, cells: np.ndarray):
        self.world, self.storage, self.family, self.cells = world, storage, family, cells
        self.grad: CellTensor | None = None
        self.noise = 0.0  # for a gradient: the size of the terms that cancelled in it
        self.directions: dict[int, int] = {}  # for a leaf, or where gradients are retained: cell -> direction
        if family.first is None:
            family.first, family.founder = self, layout(cells)

    # ---- what can be seen --------------------------------------------------------------------------------------------

    @property
    def shape(self) -> list[int]:
        return list(self.cells.shape)

    @property
    def offset(self) -> int:
        return self.cells.item(0) if self.cells.size else 0

    @property
    def strides(self) -> list[int]:
        return list(layout(self.cells)[2])

    @property
    def dtype(self) -> np.dtype:
        return self.storage.values.dtype

    @property
    def inplace_version(self) -> int:
        return self.storage.version

    @property
    def is_leaf(self) -> bool:
        return not self.family.wants or self.family.leaf is self

    def data_ptr(self) -> int:
        """Some number that names the storage, and behind it the offset in bytes."""
        return id(self.storage) + self.offset * self.dtype.itemsize

    def numpy(self) -> np.ndarray:
        return np.array(self.storage.values[self.cells])

    def is_contiguous(self) -> bool:
        return self.cells.flags.c_contiguous

    def rearrange(self, strides: list[int]) -> bool:
        """Lie in memory with these strides instead. False if they do not give every element a cell of its own."""
        storage, old = self.storage, self.cells
        if sum((n - 1) * s for n, s in zip(old.shape, strides, strict=True)) != storage.values.size - 1:
            return False
        new = as_strided(storage.cells, old.shape, [s * old.itemsize for s in strides])
        if min(strides) < 0 or c.overlaps_itself(new):
            return False
        storage.values[new] = storage.values[old]
        self.family.tangents[new] = self.family.tangents[old]
        directions = [self.directions[cell] for cell in old.ravel().tolist()] if self.directions else []
        self.directions = dict(zip(new.ravel().tolist(), directions, strict=False))
        self.cells, self.family.founder = new, layout(new)
        return True

    # ---- gradients ---------------------------------------------------------------------------------------------------

    @property
    def stop_gradient(self) -> bool:
        return not self.family.wants

    @stop_gradient.setter
    def stop_gradient(self, stop: bool) -> None:
        if stop == self.stop_gradient:
            return
        if stop:
            self.family = self.detach().family
            return
        if layout(self.cells) != self.family.founder:
            self.family = self.detach().family
        self.family.wants, self.family.leaf = True, self
        self.family.record = c.Record()
        self.open_directions()

    def detach_(self) -> CellTensor:
        self.stop_gradient = True
        return self

    def open_directions(self) -> None:
        """Differentiate with respect to this tensor's elements from now on."""
        taken = self.world.take_directions(self.cells.size)
        self.directions = dict(zip(self.cells.ravel().tolist(), range(taken.start, taken.stop), strict=True))
        self.family.tangents[self.cells.ravel(), list(self.directions.values())] = 1.0

    def own_directions(self) -> np.ndarray:
        return np.array([self.directions[cell] for cell in self.cells.ravel().tolist()], int).reshape(self.cells.shape)

    def retain_grads(self) -> None:
        self.world.retained.append(self)
        self.open_directions()

    def follow_current_value(self) -> None:
        """A retained gradient is the derivative by the current value: forget what depended on the one before."""
        own = list(self.directions.values())
        for family in self.world.families:
            family.tangents[:, own] = 0.0
        self.family.tangents[list(self.directions), own] = 1.0

    def register_hook(self, hook) -> None:
        """A linear hook on a fresh result: a factor on everything that is computed from it."""
        self.family.tangents[self.cells.ravel()] *= hook(1.0)

    def backward(self, grad_tensor=None, retain_graph=False) -> None:
        derivative, noise, records = self.world.differentiate([self], [grad_tensor], retain_graph)
        owners = {id(f.leaf): f.leaf for f in self.world.families if f.leaf is not None}
        owners |= {id(t): t for t in self.world.retained}
        for tensor in owners.values():
            if tensor.family.record in records:
                tensor.accumulate(derivative[tensor.own_directions()], noise[tensor.own_directions()])

    def accumulate(self, gradient: np.ndarray, noise: np.ndarray) -> None:
        if self.grad is not None:
            gradient = self.world.accumulated(self.grad.numpy(), gradient)
            noise = noise + self.grad.noise
        self.grad = self.world.fresh(constant(gradient.astype(self.dtype)))
        self.grad.noise = noise

    def clear_gradient(self, set_to_zero: bool = True) -> None:
        self.grad = self.world.fresh(constant(np.zeros_like(self.grad.numpy()))) if set_to_zero else None

    clear_grad = clear_gradient

    # ---- views -------------------------------------------------------------------------------------------------------

    def look(self, cells: np.ndarray) -> CellTensor:
        return self.world.look(self, cells)

    def detach(self) -> CellTensor:
        return self.world.alias(self)

    def shaped(self, change, *args) -> np.ndarray:
        """The cells of a view; refused where the arguments do not fit."""
        try:
            return change(self.cells, *args)
        except (ValueError, IndexError, TypeError):
            return self.world.refuse([c.MISFIT])

    def holds(self, cells: np.ndarray) -> bool:
        """Whether these are cells of this storage: numpy copies them where strides can not express a shape."""
        return cells.size == 0 or np.may_share_memory(cells, self.storage.cells)

    def reshape(self, shape) -> CellTensor:
        """A view where strides can express it, else a copy."""
        cells = self.shaped(np.reshape, shape)
        return self.look(cells) if self.holds(cells) else self.copied(cells.shape)

    def view(self, shape) -> CellTensor:
        cells = self.shaped(np.reshape, shape)
        if not self.holds(cells):
            self.world.refuse([c.MISFIT])
        return self.look(cells)

    def copied(self, shape) -> CellTensor:
        out = self.world.clone(self)
        out.cells = out.storage.cells.reshape(shape)
        out.family.founder = layout(out.cells)
        return out

    def transpose(self, perm) -> CellTensor:
        return self.look(self.shaped(np.transpose, perm))

    def t(self) -> CellTensor:
        return self.look(self.cells.T)

    @property
    def T(self) -> CellTensor:
        return self.look(self.cells.T)

    def squeeze(self, axis=None) -> CellTensor:
        return self.look(self.shaped(squeezed, axis))

    def unsqueeze(self, axis) -> CellTensor:
        return self.look(self.shaped(np.expand_dims, axis))

    def flatten(self, start_axis=0, stop_axis=-1) -> CellTensor:
        return self.reshape(flat_shape(self.cells, start_axis, stop_axis))

    def slice(self, axes, starts, ends) -> CellTensor:
        index = [slice(None)] * self.cells.ndim
        for axis, start, end in zip(axes, starts, ends, strict=True):
            index[axis] = slice(start, end)
        return self.look(self.cells[tuple(index)])

    def diagonal(self, offset=0, axis1=0, axis2=1) -> CellTensor:
        return self.look(self.shaped(np.diagonal, offset, axis1, axis2))

    def unbind(self, axis=0) -> list[CellTensor]:
        return [self.look(part[..., 0]) for part in np.moveaxis(self.cells, axis, 0)[..., None]]

    def __iter__(self):
        return iter(self.unbind(0))

    def as_strided(self, shape, stride, offset=0) -> CellTensor:
        last = offset + sum((n - 1) * s for n, s in zip(shape, stride, strict=True))
        if not 0 <= offset <= last < self.storage.values.size:
            self.world.refuse([c.INDEX])
        start = self.storage.cells[offset:]
        return self.look(as_strided(start, shape, [start.itemsize * s for s in stride]))

    # ---- copies ------------------------------------------------------------------------------------------------------

    def split(self, num_or_sections, axis=0) -> list[CellTensor]:
        sections = num_or_sections
        if not isinstance(sections, int):
            sections = np.cumsum(sections)[:-1]
        return [self.gather(part) for part in np.split(self.cells, sections, axis)]

    def cast(self, dtype) -> CellTensor:
        out = self.world.clone(self)
        out.storage.values = out.storage.values.astype(dtype)
        return out

    def chunk(self, chunks, axis=0) -> list[CellTensor]:
        return self.split(chunks, axis)

    def gather(self, cells: np.ndarray, index_tensors: list[CellTensor] = (), holds: bool = False) -> CellTensor:
        return self.world.gather(self, cells, list(index_tensors), holds)

    # ---- indices -----------------------------------------------------------------------------------------------------

    def select(self, index) -> tuple[np.ndarray, list[CellTensor] | None]:
        """The cells that ``index`` names, and the tensors in it; None where it is basic, so that a view is taken."""
        parts = index if isinstance(index, tuple) else (index,)
        plain = tuple(part.numpy() if isinstance(part, CellTensor) else part for part in parts)
        tensors = [part for part in parts if isinstance(part, CellTensor)]
        advanced = any(is_advanced(part) for part in parts)
        if not advanced and Ellipsis not in plain:
            plain = (*plain, Ellipsis)  # so that numpy gives a view even of a single element
        try:
            return self.cells[plain], tensors if advanced else None
        except IndexError:
            return self.world.refuse([c.INDEX])

    def __getitem__(self, index) -> CellTensor:
        cells, tensors = self.select(index)
        return self.look(cells) if tensors is None else self.gather(cells, tensors, holds=True)

    def __setitem__(self, index, value) -> None:
        cells, tensors = self.select(index)
        self.store(cells, value, tensors)

    def store(self, cells: np.ndarray, value, tensors: list[CellTensor] | None) -> None:
        """Write ``value``, broadcast, to some cells."""
        world = self.world
        must = world.unwritable(self)
        may = []
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
        parents = [t.family.record for t in (self, value) if world.wants(t)]
        world.write(self, cells, x, wants)
        if wants:
            saves = [c.Saved.of(i) for i in tensors or []]
            self.family.record = c.Record(parents, saves, holds=tensors is not None)

    def copy_(self, other) -> CellTensor:
        if other.cells.shape != self.cells.shape:
            self.world.refuse([c.SHAPE])
        self.store(self.cells, other, None)
        return self

    def set_value(self, value) -> None:
        values = np.asarray(value)
        if values.shape != self.cells.shape:
            self.world.refuse([c.MISFIT])
        mode = self.world.grad_mode(self.family.leaf is None and self.world.grad_enabled)
        with mode:
            self.store(self.cells, values, None)

    # ---- in place, shape only ----------------------------------------------------------------------------------------

    def relayout(self, cells: np.ndarray) -> CellTensor:
        """Look at the same cells in another shape: nothing is written."""
        if self.world.grad_enabled and self.family.leaf is not None:
            self.world.refuse([c.LEAF])
        if not self.holds(cells):
            self.world.refuse([c.MISFIT])
        if self.grad is not None:  # the gradient keeps the shape of its tensor
            place = {cell: i for i, cell in enumerate(self.cells.ravel().tolist())}
            order = np.array([place[cell] for cell in cells.ravel().tolist()], int).reshape(cells.shape)
            noise = np.broadcast_to(self.grad.noise, self.grad.cells.shape)
            self.grad.cells, self.grad.noise = self.grad.cells.ravel()[order], noise.ravel()[order]
        self.cells = cells
        self.world.relaid(self)
        return self

    def reshape_(self, shape) -> CellTensor:
        return self.relayout(self.shaped(np.reshape, shape))

    def transpose_(self, perm) -> CellTensor:
        return self.relayout(self.shaped(np.transpose, perm))

    def t_(self) -> CellTensor:
        return self.relayout(self.cells.T)

    def squeeze_(self, axis=None) -> CellTensor:
        return self.relayout(self.shaped(squeezed, axis))

    def unsqueeze_(self, axis) -> CellTensor:
        return self.relayout(self.shaped(np.expand_dims, axis))

    def flatten_(self, start_axis=0, stop_axis=-1) -> CellTensor:
        return self.relayout(self.shaped(np.reshape, flat_shape(self.cells, start_axis, stop_axis)))

    # ---- operators ---------------------------------------------------------------------------------------------------

    def __neg__(self):
        return self.neg()

    def __abs__(self):
        return self.abs()

    def compared(self, other, comparison) -> CellTensor:
        x, y = self.world.dual(self).v, self.world.dual(other).v
        require((np.abs(x - y) > MARGIN) | (x.dtype.kind == "i"))
        return self.world.fresh(constant(comparison(x, y)))

    def __gt__(self, other):
        return self.compared(other, np.greater)

    def __lt__(self, other):
        return self.compared(other, np.less)


def squeezed(cells: np.ndarray, axis: int | None) -> np.ndarray:
    """Without a dimension of size 1; a dimension of another size stays, as in Paddle."""
    if axis is None:
        return cells.squeeze()
    return cells.squeeze(axis) if cells.shape[axis] == 1 else cells[...]


def flat_shape(cells: np.ndarray, start: int, stop: int) -> tuple[int, ...]:
    if cells.ndim == 0:
        return (1,)
    start, stop = start % cells.ndim, stop % cells.ndim
    return (*cells.shape[:start], int(np.prod(cells.shape[start : stop + 1])), *cells.shape[stop + 1 :])


def _operator(name: str, reflected: bool):
    def operator(self, other):
        operands = [other, self] if reflected else [self, other]
        return self.world.normal(name, operands, {})

    return operator


for _symbol, _name in (
    ("add", "add"),
    ("sub", "subtract"),
    ("mul", "multiply"),
    ("truediv", "divide"),
    ("pow", "pow"),
    ("matmul", "matmul"),
):
    setattr(CellTensor, f"__{_symbol}__", _operator(_name, False))
    setattr(CellTensor, f"__r{_symbol}__", _operator(_name, True))
