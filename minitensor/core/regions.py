"""Regions: which cells of a group's memory a view covers.

A region tells everything in memory, not in indices: an offset, a shape and strides inside the stretch of memory (the
extent) that the base of the group spans. So views of views need no composing, and a base whose shape or strides changed
later is no special case. What an index picks of the base itself is told by that index, :class:`Pick`: to ask numpy for
the address of an array takes three times as long as to add up a small one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy import add, ndarray

from minitensor.device.arrays import add_at, address_of, host_array, like, owner_of, restrided, strided

address = address_of


class Layout(NamedTuple):
    """How an array lies in a stretch of memory, in elements."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def of(self, cells: np.ndarray) -> np.ndarray:
        """The elements of the one-dimensional array ``cells`` that this layout shows."""
        size = cells.itemsize
        shown: np.ndarray = strided(cells, self.offset, self.shape, tuple([s * size for s in self.strides]))
        return shown


class Region(NamedTuple):
    """The cells that a view covers, inside the ``extent`` (elements) that the base of its group spans.

    ``dense``: the base shows its extent in the usual order, without gaps, and the view shows some cells, none of
    them twice. So a gradient for the base in the usual order has the view's cells at the view's places.
    """

    extent: int
    base: Layout
    view: Layout
    overlaps_itself: bool
    dense: bool

    def within(self, g: np.ndarray) -> np.ndarray | None:
        """The view's cells of ``g``, a gradient for the base, in the memory of ``g``; None where it cannot be."""
        return self.view.of(g.reshape(-1)) if self.dense and g.flags.c_contiguous else None

    def spread(self, g: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """The gradient for the base, of ``shape``, of a gradient ``g`` for the view: zero where that does not look."""
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
        """What the view shows of the base's elements ``u``."""
        cells = np.zeros((self.extent,), u.dtype, like=u)
        self.base.of(cells)[...] = u
        return self.view.of(cells).copy()

    def split(self, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A gradient ``g`` for the base, split into the view's part and the rest (zero at the view's cells)."""
        if self.dense:
            rest = g.copy()
            return self.take(rest), rest  # type: ignore[return-value]  # where the base is dense there is always a part
        cells = np.zeros((self.extent,), g.dtype, like=g)
        self.base.of(cells)[...] = g
        part = self.view.of(cells)
        taken = part.copy()
        part[...] = 0
        return taken, self.base.of(cells)

    def take(self, g: np.ndarray) -> np.ndarray | None:
        """Take the view's part out of ``g`` itself, which is zero there afterwards; None where it cannot be."""
        part = self.within(g)
        if part is None:
            return None
        taken = part.copy()
        part.fill(0)
        return taken


class Pick:
    """Picks ``array[index]`` as a view, also where numpy would give a bare number; no element twice.

    Of the base of a group it is a region, too, and finds its cells in gradients however they lie.
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
        """The view."""
        picked: np.ndarray = array[self.index]
        return picked

    def within(self, g: np.ndarray) -> np.ndarray:
        """The cells of ``g``, a gradient for the whole, in the memory of ``g``."""
        return self(g)

    def spread(self, g: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """The gradient for the whole, which has ``shape``: zero where the part does not look."""
        whole = np.zeros(shape, g.dtype, like=g)
        self(whole)[...] = g
        return whole

    def split(self, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A gradient ``g`` for the whole, split into the part's and the rest (zero at the part's cells)."""
        rest = g.copy()
        return self.take(rest), rest

    def take(self, g: np.ndarray) -> np.ndarray:
        """Take the part's cells out of ``g`` itself, which is zero there afterwards."""
        part = self(g)
        taken = part.copy()
        part.fill(0)
        return taken


class PartGradient:
    """A gradient for the whole of a memory that is zero but for one part: told as the gradient ``g`` for that part.

    So that reading a row of a large matrix takes no matrix of zeros on the way back. ``region`` is where it lies in
    the whole, which has ``shape``.
    """

    __slots__ = ("g", "region", "shape")

    def __init__(self, g: np.ndarray, region: Region | Pick, shape: tuple[int, ...]) -> None:
        self.g, self.region, self.shape = g, region, shape

    def whole(self) -> np.ndarray:
        """The gradient for the whole."""
        return self.region.spread(self.g, self.shape)

    def on_the_host(self) -> np.ndarray:
        """The same, where no GPU counts it."""
        return self.region.spread(host_array(self.g), self.shape)

    def add_to(self, total: np.ndarray) -> bool:
        """Add it to ``total``, a gradient for the whole, in place; False where that cannot be."""
        cells = self.region.within(total)
        if cells is None:
            return False
        add(cells, self.g, cells)
        return True


class Extent(NamedTuple):
    """The memory that an array spans: where it ``begins`` (an address), how ``long`` it is (elements), and how all
    of the array lies in it: ``dense`` when in the usual order, without gaps.
    """

    begins: int
    long: int
    whole: Layout
    dense: bool

    def region_of(self, view: np.ndarray) -> Region:
        """Where ``view``, an array of the same storage and dtype, lies in it."""
        size = view.itemsize
        overlaps = overlaps_itself(view)
        part = Layout((address(view) - self.begins) // size, view.shape, tuple([s // size for s in view.strides]))
        return Region(self.long, self.whole, part, overlaps, self.dense and not overlaps and view.size > 0)


def extent_of(base: np.ndarray) -> Extent:
    """The memory that ``base`` spans."""
    size, first, dense = base.itemsize, address(base), base.flags.c_contiguous
    begins, long = (first, base.size) if dense else span(base)
    whole = Layout((first - begins) // size, base.shape, tuple([s // size for s in base.strides]))
    return Extent(begins, long, whole, dense)


def region_of(view: np.ndarray, base: np.ndarray) -> Region:
    """Where ``view`` lies in the memory of ``base``; both are arrays on one storage."""
    return extent_of(base).region_of(view)


def span(array: np.ndarray) -> tuple[int, int]:
    """The lowest address (bytes) that an array reaches, and how many elements lie from there to its highest."""
    if array.size == 0:
        return address(array), 0
    steps = [(n - 1) * stride for n, stride in zip(array.shape, array.strides, strict=True)]
    below = sum(step for step in steps if step < 0)
    above = sum(step for step in steps if step > 0)
    return address(array) + below, (above - below) // array.itemsize + 1


def memory_of(array: np.ndarray) -> np.ndarray:
    """All memory that ``array`` spans, in one dimension, from its lowest address."""
    if array.size == 0:
        return array.reshape(-1)
    rising: Any = (*(slice(None, None, -1 if s < 0 else 1) for s in array.strides), ...)
    upwards = array[rising]
    memory: np.ndarray = restrided(upwards, (span(array)[1],), (array.itemsize,))
    return memory


def same_layout(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays show the same cells in the same way."""
    return a is b or (a.shape == b.shape and a.strides == b.strides and address(a) == address(b))


def covers(view: np.ndarray, base: np.ndarray) -> bool:
    """Whether ``view`` shows every cell of ``base``, each once, though perhaps in another order."""
    if same_layout(view, base):
        return True
    return view.size == base.size == span(base)[1] and span(view) == span(base) and not overlaps_itself(view)


#: What is lent to be read, by the ids of the arrays that own it, and how often: a GPU has no arrays that are read-only.
_lent: dict[int, int] = {}


def lend(array: np.ndarray) -> None:
    """Refuse writes into the memory of ``array``, which lies on a GPU, until :func:`take_back`."""
    key = id(owner_of(array))
    _lent[key] = _lent.get(key, 0) + 1


def take_back(array: np.ndarray) -> None:
    """Undo one :func:`lend`."""
    key = id(owner_of(array))
    _lent[key] -= 1
    if _lent[key] == 0:
        del _lent[key]


def writeable(array: np.ndarray) -> bool:
    """Whether an array may be written: on a GPU, where no two of its elements share memory and it is not lent."""
    if type(array) is ndarray:
        return array.flags.writeable
    return not overlaps_itself(array) and not (_lent and id(owner_of(array)) in _lent)


def read_only(array: np.ndarray) -> bool:
    """Whether the memory of an array may not be written at all: it is shared with somebody who says so."""
    owner: Any = array
    while owner is not None:
        if type(owner) is ndarray:
            array = owner
        owner = getattr(owner, "base", None)
    return not writeable(array)


def overlaps_itself(array: np.ndarray) -> bool:
    """Whether two elements of ``array`` share memory."""
    if array.flags.c_contiguous or array.size < 2:
        return False
    steps = sorted((abs(s), n) for n, s in zip(array.shape, array.strides, strict=True) if n > 1)
    reach = 0
    if steps[0][0] == 0:  # known without counting, however large it is
        return True
    for step, n in steps:
        if step <= reach:
            # Interleaved dimensions may still miss one another: count the cells. Rare, and exact.
            lowest, extent = span(array)
            start = (address(array) - lowest) // array.itemsize
            layout = Layout(start, array.shape, tuple(s // array.itemsize for s in array.strides))
            seen = np.bincount(layout.of(np.arange(extent)).ravel(), minlength=extent)
            return bool(seen.max() > 1)
        reach += step * (n - 1)
    return False
