"""What all ranks do together. Each is called by every rank, in the same order, with a tensor of the same shape."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from minitensor.autograd.py_layer import PyLayer
from minitensor.core.errors import not_writeable
from minitensor.core.regions import writeable
from minitensor.core.tensor import Tensor
from minitensor.distributed.mpi import ranks_text
from minitensor.distributed.world import Link, link_for
from minitensor.dtypes import FLOATS
from minitensor.events import watch
from minitensor.modes import modes
from minitensor.saving.writing import write


class ReduceOp:
    """What :func:`all_reduce` may do with the numbers of the ranks."""

    SUM, MAX, MIN, PROD, AVG = "sum", "max", "min", "prod", "avg"


_OPERATIONS = (ReduceOp.SUM, ReduceOp.MAX, ReduceOp.MIN, ReduceOp.PROD, ReduceOp.AVG)


def all_reduce(tensor: Tensor, op: str = ReduceOp.SUM) -> Tensor:
    """Overwrite ``tensor`` on every rank by the sum over all ranks, element by element: one counted write.

    Args:
        tensor: of one shape and dtype on all ranks, in place. It wants no gradient, or this stands under ``no_grad``:
            a history cannot say what other ranks computed. See :func:`sum_over_ranks`.
        op: of :class:`ReduceOp`: SUM unless told.

    Returns:
        ``tensor`` itself.

    Raises:
        RuntimeError: before ``init_parallel_env``; if a rank does not come; for a tensor that wants a gradient, or
            whose memory cannot be written.
        ValueError: if the ranks give tensors of different shapes or dtypes, or for another op. Nothing is written.
        TypeError: for anything but a tensor of numbers.
    """
    if op not in _OPERATIONS:
        raise ValueError(f"all_reduce: op is one of {', '.join(_OPERATIONS)}, not {op!r}")
    link = _checked("all_reduce", [tensor])
    if op == ReduceOp.AVG and tensor._array.dtype not in FLOATS:
        raise TypeError(f"all_reduce: the average of {tensor.dtype.name} is no {tensor.dtype.name}; sum them instead")
    _reduce(link, tensor, op, "all_reduce")
    return tensor


def broadcast(tensor: Tensor, src: int) -> Tensor:
    """Overwrite ``tensor`` on every rank by that of the rank ``src``: one counted write, on ``src`` as well.

    Returns and raises as :func:`all_reduce`; ValueError for a rank that does not exist.
    """
    link = link_for("broadcast")
    if isinstance(src, bool) or not isinstance(src, int) or not 0 <= src < link.size:
        raise ValueError(f"broadcast: src is a rank, from 0 to {link.size - 1}, not {src!r}")
    _checked("broadcast", [tensor])
    _store("broadcast", tensor, lambda array: link.broadcast(array, src, "broadcast"))
    return tensor


def average_gradients(parameters: Iterable[Tensor]) -> None:
    """Overwrite the gradient of every parameter by its average over all ranks, in place: a write each.

    Each rank has run backward on its share of a batch, all shares of one size, with a loss that is a mean: afterwards
    all have the gradient of the whole batch. Raises as :func:`all_reduce`.
    """
    gradients = [each.grad for each in parameters if each.grad is not None]
    link = _checked("average_gradients", gradients)
    for gradient in gradients:
        _reduce(link, gradient, ReduceOp.AVG, "average_gradients")


def gather(value: Any) -> list[Any]:
    """What every rank gives, a list by rank, on all ranks: numbers, text, lists, arrays; not tensors.

    Raises:
        RuntimeError: before ``init_parallel_env``; if a rank does not come.
    """
    return link_for("gather").gather(value, "gather")


def barrier() -> None:
    """Wait until every rank is here.

    Raises:
        RuntimeError: before ``init_parallel_env``; if a rank does not come.
    """
    link_for("barrier").barrier("barrier")


class _SumOverRanks(PyLayer):
    """Each rank's numbers are in the sum of every rank; so what each gets back is the sum of all their gradients."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return all_reduce(x.clone())

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        return sum_over_ranks(g)


def sum_over_ranks(x: Tensor) -> Tensor:
    """The sum of ``x`` over all ranks, as a new tensor: a normal operation, with a gradient.

    The gradient is that of the sum of all ranks' losses. All ranks have to run backward together.

    Args:
        x: of one shape and dtype on all ranks, which the result has, too.

    Raises:
        RuntimeError, ValueError, TypeError: as :func:`all_reduce`, but for the gradient that it may want.
    """
    summed: Tensor = _SumOverRanks.apply(x)
    return summed


# ---------- checked before it is written ----------


def _checked(op: str, tensors: list[Tensor]) -> Link:
    """How to reach the other ranks, if all of them can do what is asked with ``tensors``."""
    link = link_for(op)
    for x in tensors:
        if not isinstance(x, Tensor):
            raise TypeError(f"{op}: a Tensor is reduced in place, not {type(x).__name__}")
        if x._array.dtype == np.bool_:
            raise TypeError(f'{op}: truth values are no numbers; `x.astype("int32")` makes them')
        if modes.grad and x._current() is not None:
            raise RuntimeError(
                f"{op}: this tensor wants a gradient, and what other ranks computed is not in its history. Call it "
                f"under `no_grad()`, or use `distributed.sum_over_ranks(x)`, a new tensor that has a gradient."
            )
        if not writeable(x._array):
            raise not_writeable(op, x)
    given = [f"{list(x.shape)} {x.dtype.name}" for x in tensors]
    digest = int.from_bytes(hashlib.blake2b(repr((op, given)).encode(), digest_size=7).digest(), "little")
    if not link.all_equal(digest, op):
        everyone = link.gather((op, given), op)
        raise ValueError(f"{op}: the ranks differ in what they give; nothing was written.\n{_told(everyone)}")
    return link


def _told(everyone: list[Any]) -> str:
    """One line for each thing that ranks have given."""
    lines: dict[str, list[int]] = {}
    for rank, (op, given) in enumerate(everyone):
        lines.setdefault(f"{op} of {', '.join(given) or 'nothing'}", []).append(rank)
    return "\n".join(f"  {ranks_text(ranks)}: {said}" for said, ranks in lines.items())


# ---------- the write ----------


def _reduce(link: Link, tensor: Tensor, op: str, what: str) -> None:
    def reduced(array: Any) -> None:
        link.all_reduce(array, ReduceOp.SUM if op == ReduceOp.AVG else op, what)
        if op == ReduceOp.AVG:
            np.multiply(array, array.dtype.type(1 / link.size), out=array)

    _store(what, tensor, reduced)


def _store(what: str, tensor: Tensor, written: Any) -> None:
    """Let ``written`` overwrite the memory of ``tensor``; where that has gaps, a copy without them, and then it."""
    array = tensor._array

    def store() -> None:
        try:
            if array.flags.c_contiguous:
                written(array)
            else:
                packed = array.copy(order="C")
                written(packed)
                array[...] = packed
        except RuntimeError:  # a rank is gone: nobody knows what has been written
            tensor._storage.version += 1
            raise

    write(tensor._storage, array, what, None, store)
    if watch.listener is not None:
        watch.listener("write", tensor, what, (tensor,), None)
