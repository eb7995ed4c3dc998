"""Cells: the elements of a storage that an array covers or an index selects.

A set of cells is encoded as a stretch of consecutive cells; as a regular grid in a stretch, such as rows, a column, a
diagonal or a block; or as index arrays, which list runs or single positions, or have one bit per cell.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minitensor.engine.core.regions import Layout, memory_of, overlaps_itself, span
from minitensor.engine.device.arrays import address_of, host_array, like, share_memory


class Cells:
    """A set of cells. Memory is divided into cells of ``itemsize`` bytes, numbered from address 0.

    Attributes:
        itemsize: the size of one cell in bytes.
        begin: the first cell.
        extent: the length of the stretch from the first cell to the last.
        layout: the layout of the cells in this stretch, in the order of an array's elements; None if the set has all
            cells of the stretch, or if one of the following index arrays encodes it.
        positions: the first cell of each run, as a number counted from ``begin``, in rising order.
        lengths: the length of each run; None if all runs have one cell.
        bits: one packed bit for each cell of the stretch: 1 if the cell is in the set.
    """

    __slots__ = ("itemsize", "begin", "extent", "layout", "positions", "lengths", "bits")

    def __init__(
        self,
        itemsize: int,
        begin: int,
        extent: int,
        layout: Layout | None = None,
        positions: np.ndarray | None = None,
        lengths: np.ndarray | None = None,
        bits: np.ndarray | None = None,
    ) -> None:
        self.itemsize, self.begin, self.extent, self.layout = itemsize, begin, extent, layout
        self.positions, self.lengths, self.bits = positions, lengths, bits

    @classmethod
    def of(cls, array: np.ndarray) -> Cells:
        """Return the cells of ``array``, in the order of its elements."""
        size = array.itemsize
        if array.flags.c_contiguous:
            return cls(size, address_of(array) // size, array.size)
        lowest, extent = span(array)
        strides = tuple(stride // size for stride in array.strides)
        return cls(size, lowest // size, extent, Layout((address_of(array) - lowest) // size, array.shape, strides))

    @classmethod
    def unordered(cls, array: np.ndarray) -> Cells:
        """Return the cells of ``array``, in any order: as a stretch if there are no gaps."""
        cells = cls.of(array)
        if cells.layout is None or cells.extent != array.size or overlaps_itself(array):
            return cells
        return cls(cells.itemsize, cells.begin, cells.extent)

    @classmethod
    def picked(cls, array: np.ndarray, index: Any) -> Cells:
        """Return the cells of ``array[index]`` in rising order. ``index`` is an advanced index.

        For a large array, the time depends on the number of these cells and not on the size of the array.
        """
        size = array.itemsize
        index = _on_host(index)
        if array.size <= 4096:
            at = cls.of(array).numbers().reshape(array.shape)[index]
        else:
            at = np.broadcast_to(address_of(array) // size, array.shape)[index]
            for axis, (n, stride) in enumerate(zip(array.shape, array.strides, strict=True)):
                at = at + np.broadcast_to(_along(axis, array.ndim, n, stride // size), array.shape)[index]
        at = np.unique(at)
        if at.size == 0:
            return cls(size, 0, 0)
        begin = int(at[0])
        return cls(size, begin, int(at[-1]) - begin + 1, positions=at - begin)

    @classmethod
    def at(cls, numbers: np.ndarray, itemsize: int) -> Cells:
        """Return the cells with the given numbers, which are sorted and unique, in the smallest encoding."""
        if numbers.size == 0:
            return cls(itemsize, 0, 0)
        begin = int(numbers[0])
        extent = int(numbers[-1]) - begin + 1
        if numbers.size == extent:
            return cls(itemsize, begin, extent)
        numbers = numbers - begin
        grid = _grid(numbers)
        if grid is not None:
            return cls(itemsize, begin, extent, grid)
        dtype = np.min_scalar_type(extent)
        starts = np.flatnonzero(np.diff(numbers, prepend=-2) != 1)
        sizes = numbers.size * dtype.itemsize, 2 * starts.size * dtype.itemsize, (extent + 7) // 8
        if sizes[0] == min(sizes):
            return cls(itemsize, begin, extent, positions=numbers.astype(dtype))
        if sizes[1] == min(sizes):
            lengths = np.diff(starts, append=numbers.size).astype(dtype)
            return cls(itemsize, begin, extent, positions=numbers[starts].astype(dtype), lengths=lengths)
        marks = np.zeros(extent, np.bool_)
        marks[numbers] = True
        return cls(itemsize, begin, extent, bits=np.packbits(marks))

    @classmethod
    def pieces(cls, numbers: np.ndarray, itemsize: int) -> list[Cells]:
        """Return the same cells as :meth:`at`, but as up to 8 stretches if they would need index arrays."""
        cells = cls.at(numbers, itemsize)
        if not cells.index_arrays:
            return [cells]
        starts = np.flatnonzero(np.diff(numbers, prepend=-2) != 1)
        if starts.size > 8:
            return [cells]
        return [cls(itemsize, int(run[0]), run.size) for run in np.split(numbers, starts[1:])]

    @property
    def count(self) -> int:
        """The number of cells. If the set has a layout, this is the number of elements, even if they share cells."""
        if self.layout is not None:
            return math.prod(self.layout.shape)
        if self.is_stretch:
            return self.extent
        if self.lengths is not None:
            return int(self.lengths.sum(dtype=np.int64))
        return self.positions.size if self.positions is not None else self.numbers().size

    @property
    def end(self) -> int:
        """The number of the cell after the last one."""
        return self.begin + self.extent

    @property
    def lowest(self) -> int:
        """The address of the first cell in bytes."""
        return self.begin * self.itemsize

    @property
    def is_stretch(self) -> bool:
        """True if the set has all cells from the first to the last, in this order."""
        return self.layout is None and self.positions is None and self.bits is None

    @property
    def index_arrays(self) -> list[np.ndarray]:
        """The arrays that encode a set that is neither a stretch nor a grid; an empty list for other sets."""
        return [each for each in (self.positions, self.lengths, self.bits) if each is not None]

    def numbers(self) -> np.ndarray:
        """Return the numbers of the cells as a one-dimensional array, in the order of the elements."""
        if self.layout is not None:
            at = np.full(self.layout.shape, self.begin + self.layout.offset)
            for axis, (n, stride) in enumerate(zip(self.layout.shape, self.layout.strides, strict=True)):
                at += _along(axis, at.ndim, n, stride)
            return at.ravel()
        if self.bits is not None:
            return np.flatnonzero(np.unpackbits(self.bits, count=self.extent)) + self.begin
        if self.positions is None:
            return np.arange(self.begin, self.end)
        at = self.positions.astype(np.intp) + self.begin  # numpy's type for indices, which has 32 bits in a browser
        if self.lengths is not None:
            lengths = self.lengths.astype(np.intp)
            at = np.repeat(at - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
        return at

    def mark(self, marks: np.ndarray, begin: int, value: bool) -> None:
        """Set the entries of these cells in ``marks`` to ``value``. ``marks[0]`` belongs to the cell ``begin``."""
        shift = self.begin - begin
        if shift >= marks.size or shift + self.extent <= 0:
            return
        if self.is_stretch:
            marks[max(shift, 0) : shift + self.extent] = value
        elif self.layout is not None and shift >= 0 and shift + self.extent <= marks.size:
            self.layout.of(marks[shift : shift + self.extent])[...] = value
        else:
            at = self.numbers() - begin
            marks[at[(at >= 0) & (at < marks.size)]] = value

    def marked(self, begin: int, end: int) -> np.ndarray:
        """Return one bool for each cell from ``begin`` to before ``end``: True if it is in the set."""
        marks = np.zeros(max(end - begin, 0), np.bool_)
        self.mark(marks, begin, True)
        return marks

    def in_bytes(self) -> Cells:
        """Return the same memory as cells of one byte."""
        size = self.itemsize
        if self.is_stretch:
            return Cells(1, self.begin * size, self.extent * size)
        each = np.unique(self.numbers()) * size
        return Cells.at((each[:, None] + np.arange(size)).ravel(), 1)

    def overlaps(self, other: Cells) -> bool:
        """True if the two sets have a cell in common, or a byte if their cells have different sizes."""
        if self.itemsize != other.itemsize:
            return self.in_bytes().overlaps(other.in_bytes())
        begin, end = max(self.begin, other.begin), min(self.end, other.end)
        if begin >= end:
            return False
        if self.is_stretch and other.is_stretch:
            return True
        return bool((self.marked(begin, end) & other.marked(begin, end)).any())

    def copied(self, buffer: np.ndarray) -> np.ndarray:
        """Return a copy of the values that these cells have in a storage's ``buffer``, in the order of the cells."""
        begin = self.begin - span(buffer)[0] // self.itemsize
        stretch = memory_of(buffer)[begin : begin + self.extent]
        if self.layout is not None:
            return self.layout.of(stretch).copy()
        return stretch.copy() if self.is_stretch else stretch[like(self.numbers() - self.begin, stretch)]


def _on_host(index: Any) -> Any:
    """Return an advanced index with its arrays in host memory, because cells are computed on the host."""
    if isinstance(index, tuple):
        return tuple(_on_host(entry) for entry in index)
    return host_array(index) if hasattr(index, "dtype") else index


def _along(axis: int, ndim: int, n: int, stride: int) -> np.ndarray:
    """Return ``n`` multiples of ``stride``, from 0 on, along ``axis``; the other dimensions have length 1."""
    return (np.arange(n) * stride).reshape([n if i == axis else 1 for i in range(ndim)])


def _grid(at: np.ndarray) -> Layout | None:
    """Return the layout of the cells with the rising numbers ``at``, from 0 on; None if they form no regular grid."""
    shape: list[int] = []
    strides: list[int] = []
    while at.size > 1:
        step = at[1] - at[0]
        breaks = np.flatnonzero(np.diff(at) != step)
        n = int(breaks[0]) + 1 if breaks.size else at.size
        if at.size % n or len(shape) == 8:
            return None
        rows = at.reshape(-1, n)
        if (rows - rows[:, :1] != np.arange(n) * step).any():
            return None
        shape.insert(0, n)
        strides.insert(0, int(step))
        at = rows[:, 0]
    return Layout(0, tuple(shape), tuple(strides))


def touch(a: np.ndarray, b: np.ndarray) -> bool:
    """True if two arrays on one storage have a cell in common."""
    if a is b:
        return a.size > 0
    if not np.may_share_memory(a, b):
        return False
    try:
        return share_memory(a, b, max_work=10_000)
    except np.exceptions.TooHardError:
        return Cells.of(a).overlaps(Cells.of(b))
