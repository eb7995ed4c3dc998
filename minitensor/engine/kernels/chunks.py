"""Compute elementwise operations on big arrays in chunks that fit the cache, on several threads, in reused buffers.

If an operation computes each element of its result from the elements at the same position, it can be computed in
chunks. This speeds up big arrays: an operation of several steps (sigmoid, elu, a gradient rule) finds the result of
the previous step in the cache instead of in memory; several threads compute at the same time; and a new result is
written into a buffer that was used before (:mod:`minitensor.engine.device.host_buffer_cache`).

* The result is bitwise the same, because numpy computes an element independently of its position in an array.
* One call computes everything if an operand is not in C order, is on a GPU, holds integers, or overlaps the written
  array at other positions.
* An in-place operation that fails has written nothing, unless memory runs out in a later chunk. The first chunk is
  computed before the others and raises all errors about shapes, dtypes and arguments. If memory runs out for a
  temporary of a later chunk, the only guarantee is that all threads have stopped writing. An interrupt is delayed until
  everything is written.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minitensor.engine.core.regions import same_layout
from minitensor.engine.device import host_buffer_cache
from minitensor.engine.device.arrays import broadcast_shapes, may_share
from minitensor.engine.device.interrupts import uninterrupted
from minitensor.engine.device.threads import share_out, threads
from minitensor.engine.dtypes import FLOATS
from minitensor.engine.kernels import activations, elementwise
from minitensor.engine.kernels.sixteen_bits import rounded

Array = np.ndarray


class Large:
    """The size of results that are computed in chunks, and the sizes of the chunks.

    Attributes:
        nbytes: results of at least this many bytes are computed in chunks. For smaller results, starting a thread takes
            longer than the thread saves.
        chunk: for an operation of several steps, the bytes of the result in one chunk. With two operands and a
            temporary array, a chunk uses 1 MiB. With smaller chunks, calling numpy takes a larger share of the time.
        long: for an operation that numpy computes in one step, the bytes of the result in one chunk.
    """

    __slots__ = ("nbytes", "chunk", "long")

    def __init__(self) -> None:
        self.nbytes = 16 << 20
        self.chunk = 256 << 10
        self.long = 4 << 20


large = Large()

#: Functions that cannot write a new result into another array than their operand: they have no ``out``, or they would
#: write only some elements of that array, or they would compute the result in another way.
_NEED_THEIR_OPERAND = frozenset({activations.thresholded_relu, elementwise.negative, elementwise.copy})

_ONE_STEP = frozenset({elementwise.relu, elementwise.square, elementwise.clip, elementwise.reciprocal})


class Parts:
    """Arrays that are broadcast against each other to ``shape``, cut into adjacent parts.

    If every array has the shape ``shape`` or a single element, the flat sequence of elements is cut. Otherwise, the
    first dimension is cut.

    Attributes:
        length: the length of the sequence or dimension that is cut.
        step: the length of a part.
    """

    __slots__ = ("shape", "length", "step", "_lines", "_out", "_flat")

    def __init__(self, arrays: tuple[Array, ...], shape: tuple[int, ...], chunk: int) -> None:
        self.shape = shape
        self._flat = all(array.size == 1 or array.shape == shape for array in arrays)
        self._lines = [self._line(array) for array in arrays]
        self._out: Array | None = None
        self.length = math.prod(shape) if self._flat else shape[0]
        each = arrays[0].itemsize * (1 if self._flat else math.prod(shape[1:]))
        # In the flat sequence, the length of a part is a multiple of any processor's vector length.
        self.step = max(chunk // each & -64, 64) if self._flat else max(chunk // each, 1)

    def _line(self, array: Array) -> tuple[Array, bool]:
        """Return ``array`` in the form to cut, and a bool: False if every part uses the whole array, uncut."""
        if not self._flat:
            return array, array.ndim == len(self.shape) and array.shape[0] > 1
        if array.size > 1:
            return array.reshape(-1), True
        return (array if array.ndim == 0 else array.reshape(1)), False

    def write_into(self, out: Array) -> None:
        """Set ``out`` as the array to write. From then on, :meth:`at` also returns a part of ``out``."""
        self._out = out.reshape(-1) if self._flat else out
        # A function may test whether an operand is the array that it writes, so use the same object for both.
        self._lines = [(self._out, True) if same_layout(line, self._out) else (line, cut) for line, cut in self._lines]

    def at(self, start: int) -> tuple[list[Any], Any]:
        """Return the parts that begin at ``start``: a list of the operands' parts, and the part of ``out`` or None."""
        stop = start + self.step
        out = None if self._out is None else self._out[start:stop]
        return [out if line is self._out else line[start:stop] if cut else line for line, cut in self._lines], out


def _parts(forward: Callable[..., Array], arrays: tuple[Array, ...], out: Array | None) -> Parts | None:
    """Return the parts in which to compute, or None if one call has to compute everything."""
    for array in arrays:
        if type(array) is not np.ndarray or (array.dtype not in FLOATS and array.dtype != np.bool_):
            return None
        if array.size > 1 and not array.flags.c_contiguous:
            return None
    try:
        shape = broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        return None
    nbytes = math.prod(shape) * arrays[0].itemsize
    one_step = isinstance(forward, np.ufunc) or forward in _ONE_STEP
    if nbytes < large.nbytes:
        return None
    if threads.number == 1 and (one_step if out is not None else not host_buffer_cache.buffer_cache.serves(nbytes)):
        return None  # with one thread, chunks would save nothing
    if out is not None:
        if out.shape != shape or out.dtype not in FLOATS or not out.flags.c_contiguous or not out.flags.writeable:
            return None
        if any(may_share(array, out) and not same_layout(array, out) for array in arrays):
            return None
    parts = Parts(arrays, shape, large.long if one_step else large.chunk)
    return parts if parts.length > parts.step else None


def in_chunks(
    forward: Callable[..., Array], arrays: tuple[Array, ...], arguments: tuple[Any, ...] = (), out: Array | None = None
) -> Array:
    """Return ``forward(*arrays, *arguments)``. If ``out`` is given, which is one of ``arrays``, write the result there.

    16-bit floats are computed in float32, chunk by chunk.
    """
    forward = rounded(forward, arrays)
    if out is not None:
        with uninterrupted():
            _compute_in_place(forward, arrays, arguments, out)
        return out
    parts = _parts(forward, arrays, None)
    if parts is None:
        return forward(*arrays, *arguments)
    return _compute_new(forward, parts, arguments, copied=forward in _NEED_THEIR_OPERAND)


def _compute_in_place(
    forward: Callable[..., Array], arrays: tuple[Array, ...], arguments: tuple[Any, ...], out: Array
) -> None:
    parts = _parts(forward, arrays, out)
    if parts is None:
        forward(*arrays, *arguments, out=out)
        return
    parts.write_into(out)
    with np.errstate(all="ignore"):
        operands, part = parts.at(0)
        forward(*operands, *arguments, out=part)
    _compute_rest(forward, parts, arguments, copied=False)


def copied(array: Array) -> Array:
    """Return a contiguous copy."""
    return in_chunks(elementwise.copy, (array,))


def rule_in_chunks(rule: Callable[..., Array], arrays: tuple[Array, ...], arguments: tuple[Any, ...] = ()) -> Array:
    """Return the result of ``rule(*arrays, *arguments)``, an elementwise expression."""
    parts = _parts(rule, arrays, None)
    return rule(*arrays, *arguments) if parts is None else _compute_new(rule, parts, arguments, copied=True)


def _compute_new(forward: Callable[..., Array], parts: Parts, arguments: tuple[Any, ...], copied: bool) -> Array:
    with np.errstate(all="ignore"):
        first = forward(*parts.at(0)[0], *arguments)
    out = host_buffer_cache.empty(parts.shape, first.dtype)
    parts.write_into(out)
    np.copyto(parts.at(0)[1], first)
    # Without the delay, an interrupt could free the buffer for reuse while threads still write into it.
    with uninterrupted():
        _compute_rest(forward, parts, arguments, copied)
    return out


def _compute_rest(forward: Callable[..., Array], parts: Parts, arguments: tuple[Any, ...], copied: bool) -> None:
    """Compute all parts but the first. If ``copied`` is true, ``forward`` gets no ``out``, and its result is copied."""

    def compute(start: int) -> None:
        operands, out = parts.at(start)
        if copied:
            np.copyto(out, forward(*operands, *arguments))
        else:
            forward(*operands, *arguments, out=out)

    share_out(compute, range(parts.step, parts.length, parts.step), threads.number)
