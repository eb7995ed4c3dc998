"""The reference's tensor: a storage, a group, and an array of cells.

The storage has an array of cell numbers 0, 1, 2, ..., and ``cells`` is a numpy view of it. A view of a tensor has
another numpy view of the same array, so numpy computes offset, strides and overlap.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import as_strided

from . import cells as c
from .calculus import MARGIN, constant, require
from .dtypes import computed, rounded
from .elements import Elements
from .views import Views


class CellTensor(Views, Elements):
    """Some cells of a storage, in some order and shape."""

    __array_ufunc__ = None  # numpy then calls the tensor's method for ``array + tensor``

    def __init__(self, world, storage: c.Storage, group: c.Group, cells: np.ndarray):
        self.world, self.storage, self.group, self.cells = world, storage, group, cells
        self.grad: CellTensor | None = None
        self.emptied_at: int | None = None  # for a gradient: the version after clear_gradient wrote zeros
        self.noise = 0.0  # for a gradient: the size of the terms that cancelled in it
        self.settled_cells: np.ndarray | None = None  # the cells at the time when the layout was compared
        self.accepted = self.accepted_gradient = c.NOTHING  # numbers of the engine that were compared and agree
        self.folded = False  # True for a view of a tensor whose elements share memory
        self.directions: dict[int, int] = {}  # for a leaf, or if gradients are retained: the direction of each cell
        if group.first is None:
            group.first, group.base = self, c.layout(cells)

    # ---- visible state -----------------------------------------------------------------------------------------------

    @property
    def shape(self) -> list[int]:
        return list(self.cells.shape)

    @property
    def offset(self) -> int:
        return self.cells.item(0) if self.cells.size else 0

    @property
    def strides(self) -> list[int]:
        return list(c.layout(self.cells)[2])

    @property
    def dtype(self) -> np.dtype:
        return self.storage.values.dtype

    @property
    def inplace_version(self) -> int:
        return self.storage.version

    @property
    def is_leaf(self) -> bool:
        return not self.group.wants or self.group.leaf is self

    def data_ptr(self) -> int:
        """Return a number that identifies the storage, plus the offset in bytes."""
        return id(self.storage) + self.offset * self.dtype.itemsize

    def numpy(self) -> np.ndarray:
        return np.array(self.storage.values[self.cells])

    def is_contiguous(self) -> bool:
        return self.cells.flags.c_contiguous

    def rearrange(self, strides: list[int]) -> bool:
        """Change the strides of the memory. Return False unless each cell then has exactly one element."""
        storage, old = self.storage, self.cells
        if sum((n - 1) * s for n, s in zip(old.shape, strides, strict=True)) != storage.values.size - 1:
            return False
        new = as_strided(storage.cells, old.shape, [s * old.itemsize for s in strides])
        if min(strides) < 0 or c.overlaps_itself(new):
            return False
        storage.values[new] = storage.values[old]
        self.group.tangents[new] = self.group.tangents[old]
        directions = [self.directions[cell] for cell in old.ravel().tolist()] if self.directions else []
        self.directions = dict(zip(new.ravel().tolist(), directions, strict=False))
        self.cells, self.group.base = new, c.layout(new)
        return True

    # ---- gradients ---------------------------------------------------------------------------------------------------

    @property
    def stop_gradient(self) -> bool:
        return not self.group.wants

    @stop_gradient.setter
    def stop_gradient(self, stop: bool) -> None:
        if stop == self.stop_gradient:
            return
        if stop:
            self.group = self.detach().group
            return
        if c.layout(self.cells) != self.group.base:
            self.group = self.detach().group
        self.group.wants, self.group.leaf = True, self
        self.group.record = c.Record()
        self.open_directions()

    def detach_(self) -> CellTensor:
        self.stop_gradient = True
        return self

    def open_directions(self) -> None:
        """Add a direction for each element of this tensor. From now on the reference also differentiates with respect
        to them.
        """
        taken = self.world.take_directions(self.cells.size)
        self.directions = dict(zip(self.cells.ravel().tolist(), range(taken.start, taken.stop), strict=True))
        self.group.tangents[self.cells.ravel(), list(self.directions.values())] = 1.0

    def own_directions(self) -> np.ndarray:
        return np.array([self.directions[cell] for cell in self.cells.ravel().tolist()], int).reshape(self.cells.shape)

    def retain_grads(self) -> None:
        self.world.retained.append(self)
        self.open_directions()

    def follow_current_value(self) -> None:
        """Remove the derivatives with respect to the former value, because a retained gradient belongs to the current
        value.
        """
        own = list(self.directions.values())
        for group in self.world.groups:
            group.tangents[:, own] = 0.0
        self.group.tangents[list(self.directions), own] = 1.0

    def register_hook(self, hook) -> None:
        """Register a hook that multiplies the gradient of a new result by a factor."""
        self.group.tangents[self.cells.ravel()] *= hook(1.0)

    def backward(self, grad_tensor=None, retain_graph=False) -> None:
        derivative, noise, records = self.world.differentiate([self], [grad_tensor], retain_graph)
        owners = {id(f.leaf): f.leaf for f in self.world.groups if f.leaf is not None}
        owners |= {id(t): t for t in self.world.retained}
        given = [tensor for tensor in owners.values() if tensor.group.record in records]
        if any(tensor.is_added_to() and not tensor.has_gradient_of_its_shape() for tensor in given):
            self.world.refuse([c.OTHER_SHAPE])
        for tensor in given:
            tensor.accumulate(derivative[tensor.own_directions()], noise[tensor.own_directions()])

    def is_added_to(self) -> bool:
        """True if backward will add the next gradient to the current one."""
        is_leaf = self.group.leaf is self
        return is_leaf and self.grad is not None and self.grad.storage.version != self.grad.emptied_at

    def has_gradient_of_its_shape(self) -> bool:
        """True if the gradient has the tensor's shape, perhaps after leading dimensions of length 1."""
        have, own = self.grad.cells.shape, self.cells.shape
        more = len(have) - len(own)
        return more >= 0 and have == (1,) * more + own

    def accumulate(self, gradient: np.ndarray, noise: np.ndarray) -> None:
        """Store the first gradient of a leaf as a new tensor, and add later gradients to it in place.

        A retained gradient is replaced each time, as in Paddle.
        """
        require(np.isfinite(gradient.astype(self.dtype).astype(np.float64)))  # the sum may overflow in 16 bits
        retained = self.group.leaf is not self
        if not self.is_added_to():
            before = 0.0 if retained or self.grad is None else self.grad.noise
            self.grad = self.world.fresh(constant(gradient.astype(self.dtype)))
            self.grad.noise = noise + before
            self.grad.storage.is_gradient = True
            return
        total = constant(self.world.accumulated(self.grad.numpy(), gradient).astype(self.dtype))
        noise = noise + self.grad.noise
        self.world.write(self.grad, self.grad.cells, total, recording=False)
        self.grad.noise = noise

    def clear_gradient(self, set_to_zero: bool = True) -> None:
        """Write zeros into the gradient, or remove it.

        After zeros were written, the next backward creates a new tensor, unless the old one was written in between.
        """
        if set_to_zero:
            self.world.write(self.grad, self.grad.cells, constant(np.zeros(self.grad.cells.shape)), recording=False)
            self.grad.emptied_at = self.grad.storage.version
        else:
            self.grad = None

    clear_grad = clear_gradient

    # ---- operators ---------------------------------------------------------------------------------------------------

    def __neg__(self):
        return self.neg()

    def __abs__(self):
        return self.abs()

    def compared(self, other, comparison) -> CellTensor:
        if computed(self.dtype) != self.dtype:  # a number is rounded to the dtype of 16 bits first
            other = rounded(other, self.dtype)
        x, y = self.world.dual(self).v, self.world.dual(other).v
        require((np.abs(x - y) > MARGIN) | (x.dtype.kind in "iu"))
        return self.world.fresh(constant(comparison(x, y)))

    def __gt__(self, other):
        return self.compared(other, np.greater)

    def __lt__(self, other):
        return self.compared(other, np.less)


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
