"""Regions: the cells of a group's memory that a view covers.

A group consists of tensors that are views of one another, and its base is the tensor with which it began (see
:mod:`minitensor.engine.core.history`).

A region describes memory, not indices: an offset, a shape and strides inside the stretch of memory (the extent) that
the group's base spans. Therefore the region of a view of a view is found like that of any view, and a base whose shape
or strides have changed needs no special case. A view that was made by indexing the base itself is described by its
index (:class:`Pick`) instead, because a region needs the address of the view, and asking numpy for an address takes
three times as long as summing a small array.
"""

from __future__ import annotations

import contextlib
from typing import Any, NamedTuple

import numpy as np
from numpy import add, ndarray

from minitensor.engine.core.layout_rules import strided as layouts
from minitensor.engine.device.arrays import add_at, address_of, host_array, like, owner_of, restrided, strided


class Layout(NamedTuple):
    """The layout of an array in a stretch of memory, in elements."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def of(self, cells: np.ndarray) -> np.ndarray:
        """Return the elements of the one-dimensional array ``cells`` that this layout addresses, as a view."""
        size = cells.itemsize
        shown: np.ndarray = strided(cells, self.offset, self.shape, tuple([s * size for s in self.strides]))
        return shown


class Region(NamedTuple):
    """The cells that a view covers, inside the ``extent`` (elements) that the base of its group spans.

    ``overlaps_itself`` is true if elements of the view share cells. ``dense`` is true if the base fills its extent in C
    order without gaps, and the view covers at least one cell and no cell twice. Then the layout of the view also
    locates the view's cells in any gradient for the base that is in C order.
    """

    extent: int
    base: Layout
    view: Layout
    overlaps_itself: bool
    dense: bool

    def within(self, g: np.ndarray) -> np.ndarray | None:
        """Return the view's part of ``g``, a gradient for the base; None if the region cannot locate it in ``g``."""
        return self.view.of(g.reshape(-1)) if self.dense and g.flags.c_contiguous else None

    def spread(self, g: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """Return a gradient for the base, which has the shape ``shape``: ``g`` at the view's cells, 0 elsewhere."""
        if self.dense:
            total = np.zeros(shape, g.dtype, like=g)
            self.view.of(total.reshape(-1))[...] = g
            return total
        cells = np.zeros((self.extent,), g.dtype, like=g)
        if self.overlaps_itself:
            add_at(cells, like(self.view.of(np.arange(self.extent)), g), g)
        elif g.size:
            self.view.of(cells)[...] = g
        return self.base.of(cells)

    def show(self, u: np.ndarray) -> np.ndarray:
        """Return the elements that the view shows if the base has the elements ``u``."""
        cells = np.zeros((self.extent,), u.dtype, like=u)
        self.base.of(cells)[...] = u
        return self.view.of(cells).copy()

    def split(self, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Split ``g``, a gradient for the base, into the view's part and the rest (zero at the view's cells)."""
        if self.dense:
            rest = g.copy()
            return self.take(rest), rest  # type: ignore[return-value]  # `take` finds the part of every dense base
        cells = np.zeros((self.extent,), g.dtype, like=g)
        self.base.of(cells)[...] = g
        part = self.view.of(cells)
        taken = part.copy()
        part[...] = 0
        return taken, self.base.of(cells)

    def take(self, g: np.ndarray) -> np.ndarray | None:
        """Return a copy of the region's part of ``g`` and set that part to 0; None if no strides describe the part."""
        part = self.within(g)
        if part is None:
            return None
        taken = part.copy()
        part.fill(0)
        return taken


class Pick:
    """Index of a view: ``pick(array)`` is ``array[index]`` as a view, even if numpy would return a scalar.

    The index selects no element twice. Applied to the base of a group, it also serves as a region, and it finds the
    view's cells in gradients of any layout.
    """

    __slots__ = ("index",)

    def __init__(self, index: Any) -> None:
        index = index if isinstance(index, tuple) else (index,)
        for entry in index:
            if entry is Ellipsis:
                break
        else:
            index = (*index, Ellipsis)
        self.index = index

    def __call__(self, array: np.ndarray) -> np.ndarray:
        """Return ``array[index]`` as a view."""
        picked: np.ndarray = array[self.index]
        return picked

    def within(self, g: np.ndarray) -> np.ndarray:
        """Return the part's cells in ``g``, a gradient for the whole, as a view of ``g``."""
        return self(g)

    def spread(self, g: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """Return a gradient for the whole, which has the shape ``shape``: ``g`` at the part's cells, 0 elsewhere."""
        whole = np.zeros(shape, g.dtype, like=g)
        self(whole)[...] = g
        return whole

    def split(self, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Split ``g``, a gradient for the whole, into the part's gradient and the rest (zero at the part's cells)."""
        rest = g.copy()
        return self.take(rest), rest

    def take(self, g: np.ndarray) -> np.ndarray:
        """Return a copy of the part's cells in ``g``, and set them to 0 in ``g``."""
        part = self(g)
        taken = part.copy()
        part.fill(0)
        return taken


class PartGradient:
    """A gradient for a whole memory that is zero outside one part, stored as the gradient ``g`` for that part.

    With it, the backward of reading one row of a large matrix allocates no matrix of zeros. ``region`` locates the part
    in the whole, which has ``shape``.
    """

    __slots__ = ("g", "region", "shape")

    def __init__(self, g: np.ndarray, region: Region | Pick, shape: tuple[int, ...]) -> None:
        self.g, self.region, self.shape = g, region, shape

    def whole(self) -> np.ndarray:
        """Return the gradient for the whole."""
        return self.region.spread(self.g, self.shape)

    def on_the_host(self) -> np.ndarray:
        """Return the gradient for the whole in host memory, which no GPU's allocator counts."""
        return self.region.spread(host_array(self.g), self.shape)

    def add_to(self, total: np.ndarray) -> bool:
        """Add the part in place to ``total``, a gradient for the whole; False if the region cannot locate it."""
        cells = self.region.within(total)
        if cells is None:
            return False
        add(cells, self.g, cells)
        return True


class Extent(NamedTuple):
    """The memory that an array spans, and the array's layout in it.

    Attributes:
        begin: the lowest address in bytes.
        length: the number of elements.
        whole: the layout of the array in this memory.
        dense: true if the array fills the memory in C order without gaps.
    """

    begin: int
    length: int
    whole: Layout
    dense: bool

    def region_of(self, view: np.ndarray) -> Region:
        """Locate ``view``, an array of the same storage and dtype, in this memory."""
        size = view.itemsize
        overlaps = overlaps_itself(view)
        part = Layout((address_of(view) - self.begin) // size, view.shape, tuple([s // size for s in view.strides]))
        return Region(self.length, self.whole, part, overlaps, self.dense and not overlaps and view.size > 0)


def extent_of(base: np.ndarray) -> Extent:
    """Return the memory that ``base`` spans."""
    size, first, dense = base.itemsize, address_of(base), base.flags.c_contiguous
    begin, length = (first, base.size) if dense else span(base)
    whole = Layout((first - begin) // size, base.shape, tuple([s // size for s in base.strides]))
    return Extent(begin, length, whole, dense)


def region_of(view: np.ndarray, base: np.ndarray) -> Region:
    """Locate ``view`` in the memory of ``base``; both are arrays on one storage."""
    return extent_of(base).region_of(view)


def span(array: np.ndarray) -> tuple[int, int]:
    """Return the lowest address of an array in bytes, and the number of elements that fit from there to its end."""
    if array.size == 0:
        return address_of(array), 0
    steps = [(n - 1) * stride for n, stride in zip(array.shape, array.strides, strict=True)]
    below = sum(step for step in steps if step < 0)
    above = sum(step for step in steps if step > 0)
    return address_of(array) + below, (above - below) // array.itemsize + 1


def memory_of(array: np.ndarray) -> np.ndarray:
    """Return all memory that ``array`` spans as a one-dimensional array, beginning at the lowest address."""
    if array.size == 0:
        return array.reshape(-1)
    rising: Any = (*(slice(None, None, -1 if s < 0 else 1) for s in array.strides), ...)
    upwards = array[rising]
    memory: np.ndarray = restrided(upwards, (span(array)[1],), (array.itemsize,))
    return memory


def same_layout(a: np.ndarray, b: np.ndarray) -> bool:
    """True if two arrays show the same cells in the same order."""
    return a is b or (a.shape == b.shape and a.strides == b.strides and address_of(a) == address_of(b))


def covers(view: np.ndarray, base: np.ndarray) -> bool:
    """True if ``view`` has the layout of ``base``, or if ``base`` has no gaps and ``view`` shows each cell once."""
    if same_layout(view, base):
        return True
    return view.size == base.size == span(base)[1] and span(view) == span(base) and not overlaps_itself(view)


#: GPU arrays that must not be written for now: the id of the array that owns the memory, and the number of loans
#: (:func:`lend`) that were not taken back. GPU arrays have no read-only flag.
_lent: dict[int, int] = {}


def lend(array: np.ndarray) -> None:
    """Refuse writes into the memory of ``array``, which is on a GPU, until :func:`take_back`."""
    key = id(owner_of(array))
    _lent[key] = _lent.get(key, 0) + 1


def take_back(array: np.ndarray) -> None:
    """Undo one :func:`lend`."""
    key = id(owner_of(array))
    _lent[key] -= 1
    if _lent[key] == 0:
        del _lent[key]


def writeable(array: np.ndarray) -> bool:
    """True if an array may be written: a numpy array by its flag, a GPU array unless it overlaps itself or is lent."""
    if type(array) is ndarray:
        return array.flags.writeable
    return not overlaps_itself(array) and not (_lent and id(owner_of(array)) in _lent)


def read_only(array: np.ndarray) -> bool:
    """True if the array that owns the memory of ``array`` is read-only. Code outside the engine may set this."""
    owner: Any = array
    while owner is not None:
        if type(owner) is ndarray:
            array = owner
        owner = getattr(owner, "base", None)
    return not writeable(array)


def locked(array: np.ndarray) -> np.ndarray:
    """Return the array for a new tensor: ``array``, or a read-only view of it if it is on the host and overlaps itself.

    :func:`unlock` makes those parts of the view writeable that do not overlap themselves.
    """
    if not overlaps_itself(array):
        return array
    layouts.exist = layouts.overlapping = True
    if type(array) is ndarray:  # `unlock` can make parts of the view writeable, because its base remains writeable
        array = array.view()
        array.flags.writeable = False
    return array


def unlock(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Return ``part``, a view of ``whole``, and make it writeable if only :func:`locked` made it read-only."""
    if type(part) is ndarray and not part.flags.writeable and not overlaps_itself(part) and overlaps_itself(whole):
        with contextlib.suppress(ValueError):  # the memory is read-only, or lent to a backward
            part.flags.writeable = True
    return part


def overlaps_itself(array: np.ndarray) -> bool:
    """True if two elements of ``array`` share memory."""
    if array.flags.c_contiguous or array.size < 2:
        return False
    steps = sorted((abs(s), n) for n, s in zip(array.shape, array.strides, strict=True) if n > 1)
    reach = 0
    if steps[0][0] == 0:  # no need to count the cells, which takes long for a large array
        return True
    for step, n in steps:
        if step <= reach:
            # Interleaved dimensions need not share cells, so count how often each cell is used. This case is rare.
            lowest, extent = span(array)
            start = (address_of(array) - lowest) // array.itemsize
            layout = Layout(start, array.shape, tuple(s // array.itemsize for s in array.strides))
            seen = np.bincount(layout.of(np.arange(extent)).ravel(), minlength=extent)
            return bool(seen.max() > 1)
        reach += step * (n - 1)
    return False


def strides_of(array: np.ndarray) -> list[int]:
    """Return the strides in elements.

    numpy gives the stride 0 to a new dimension of length 1. In Paddle and PyTorch, the stride of such a dimension is
    the length of the next dimension times the stride of the next dimension, as in a contiguous tensor.
    """
    shape, size = array.shape, array.itemsize
    steps = [step // size for step in array.strides]
    for d in range(len(shape) - 1, -1, -1):
        if shape[d] == 1 and steps[d] == 0:
            steps[d] = max(shape[d + 1], 1) * steps[d + 1] if d + 1 < len(shape) else 1
    return steps


def steps_of(array: np.ndarray) -> tuple[int, ...]:
    """Return the strides in elements, as PyTorch shows them: an array without elements has those of a new tensor."""
    if 0 not in array.shape:
        return tuple(strides_of(array))
    steps = [1] * array.ndim
    for d in range(array.ndim - 2, -1, -1):
        steps[d] = max(array.shape[d + 1], 1) * steps[d + 1]
    return tuple(steps)
