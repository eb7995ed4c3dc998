"""Collective operations. Every rank has to call them in the same order, with tensors of the same shape."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from minitensor.distributed.mpi import ranks_text
from minitensor.distributed.world import Link, link_for
from minitensor.engine import checks
from minitensor.engine.autograd.py_layer import PyLayer
from minitensor.engine.checks import shown
from minitensor.engine.core.errors import not_writeable
from minitensor.engine.core.regions import writeable
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.dtypes import FLOATS
from minitensor.engine.events import TensorWritten, watch
from minitensor.engine.modes import modes
from minitensor.engine.saved.writing import write


class ReduceOp:
    """The operations of :func:`all_reduce`."""

    SUM, MAX, MIN, PROD, AVG = "sum", "max", "min", "prod", "avg"


_OPERATIONS = (ReduceOp.SUM, ReduceOp.MAX, ReduceOp.MIN, ReduceOp.PROD, ReduceOp.AVG)


def all_reduce(tensor: Tensor, op: str = ReduceOp.SUM) -> Tensor:
    """Overwrite ``tensor`` on every rank with the elementwise sum (or ``op``) over all ranks, in one versioned write.
    Return ``tensor``.

    Args:
        tensor: a tensor with the same shape and dtype on all ranks. In grad mode it must not require a gradient,
            because a history cannot contain the computation of other ranks: see :func:`sum_over_ranks`.
        op: one of :class:`ReduceOp`; SUM by default.

    Raises:
        RuntimeError: before ``init_parallel_env``; if a rank does not call this function; if the tensor requires a
            gradient in grad mode; or if its memory is read-only.
        ValueError: if ``op`` is unknown, or if shapes or dtypes differ between ranks. Nothing is written then.
        TypeError: if ``tensor`` is not a tensor of numbers, or if ``op`` is AVG and the dtype is not a float dtype.
    """
    checks.choice("all_reduce", "op", op, _OPERATIONS)
    link = _check_ranks("all_reduce", [tensor])
    if op == ReduceOp.AVG and tensor._array.dtype not in FLOATS:
        raise TypeError(f"all_reduce: the average of {tensor.dtype.name} numbers has another dtype; use op 'sum'")
    _reduce(link, tensor, op, "all_reduce")
    return tensor


def broadcast(tensor: Tensor, src: int) -> Tensor:
    """Overwrite ``tensor`` on every rank with the tensor of rank ``src``. Return ``tensor``.

    The call makes one versioned write on each rank, also on rank ``src``.

    Raises:
        RuntimeError, TypeError: as :func:`all_reduce` does.
        ValueError: if ``src`` is not a rank, or if shapes or dtypes differ between ranks. Nothing is written then.
    """
    link = link_for("broadcast")
    if isinstance(src, bool) or not isinstance(src, int) or not 0 <= src < link.size:
        raise ValueError(f"broadcast: src must be a rank, from 0 to {link.size - 1}, not {shown(src)}")
    _check_ranks("broadcast", [tensor])
    _store("broadcast", tensor, lambda array: link.broadcast(array, src, "broadcast"))
    return tensor


def average_gradients(parameters: Iterable[Tensor]) -> None:
    """Overwrite the gradient of every parameter with its average over all ranks, in one versioned write per gradient.

    If the loss is a mean, and each rank has run ``backward()`` on an equal share of a batch, then all ranks have the
    gradient of the whole batch afterwards.

    Raises:
        RuntimeError, ValueError, TypeError: as :func:`all_reduce` does.
    """
    tensors = checks.elements("average_gradients", "parameters", parameters, "tensors", Tensor)
    gradients = [each.grad for each in tensors if each.grad is not None]
    link = _check_ranks("average_gradients", gradients)
    for gradient in gradients:
        _reduce(link, gradient, ReduceOp.AVG, "average_gradients")


def gather(value: Any) -> list[Any]:
    """Return on every rank a list of the values of all ranks, ordered by rank.

    Args:
        value: a number, text, list or array, but not a tensor.

    Raises:
        RuntimeError: before ``init_parallel_env``, or if a rank does not call this function.
    """
    return link_for("gather").gather(value, "gather")


def barrier() -> None:
    """Wait until every rank has called this function.

    Raises:
        RuntimeError: before ``init_parallel_env``, or if a rank does not call this function.
    """
    link_for("barrier").barrier("barrier")


class _SumOverRanks(PyLayer):
    """The sum over ranks. Each input is part of the sums on all ranks, so the gradients of all ranks are added."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return all_reduce(x.clone())

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        return sum_over_ranks(g)


def sum_over_ranks(x: Tensor) -> Tensor:
    """Return the sum of ``x`` over all ranks as a new tensor. Autograd records the operation.

    ``backward()`` computes the gradient of the sum of all ranks' losses. Every rank has to run ``backward()``.

    Args:
        x: a tensor with the same shape and dtype on all ranks. The result has the same shape and dtype.

    Raises:
        RuntimeError, ValueError, TypeError: as :func:`all_reduce` does, except that ``x`` may need a gradient.
    """
    checks.instance("sum_over_ranks", "x", x, Tensor, "a Tensor")
    total: Tensor = _SumOverRanks.apply(x)
    return total


# ---------- checks before a write ----------


def _check_ranks(op: str, tensors: list[Tensor]) -> Link:
    """Return the link to the other ranks, after checking that all of them can run ``op`` on ``tensors``."""
    link = link_for(op)
    for x in tensors:
        if not isinstance(x, Tensor):
            raise TypeError(f"{op}: the argument must be a Tensor, not {type(x).__name__}")
        if x._array.dtype == np.bool_:
            raise TypeError(f'{op}: bools are not numbers; convert them with `x.astype("int32")`')
        if modes.grad and x._current() is not None:
            raise RuntimeError(
                f"{op}: this tensor needs a gradient, and its history does not contain the computation of other ranks. "
                f"Call it under `no_grad()`, or use `distributed.sum_over_ranks(x)`, a new tensor that has a gradient."
            )
        if not writeable(x._array):
            raise not_writeable(op, x)
    given = [f"{list(x.shape)} {x.dtype.name}" for x in tensors]
    digest = int.from_bytes(hashlib.blake2b(repr((op, given)).encode(), digest_size=7).digest(), "little")
    if not link.all_equal(digest, op):
        everyone = link.gather((op, given), op)
        raise ValueError(
            f"{op}: the arguments of the ranks differ; nothing was written.\n{_list_differences(everyone)}"
        )
    return link


def _list_differences(everyone: list[Any]) -> str:
    """Return one line for each distinct call, with the ranks that made it."""
    lines: dict[str, list[int]] = {}
    for rank, (op, given) in enumerate(everyone):
        lines.setdefault(f"{op} of {', '.join(given) or 'nothing'}", []).append(rank)
    return "\n".join(f"  {ranks_text(ranks)}: {text}" for text, ranks in lines.items())


# ---------- the write ----------


def _reduce(link: Link, tensor: Tensor, op: str, what: str) -> None:
    def reduce(array: Any) -> None:
        link.all_reduce(array, ReduceOp.SUM if op == ReduceOp.AVG else op, what)
        if op == ReduceOp.AVG:
            np.multiply(array, array.dtype.type(1 / link.size), out=array)

    _store(what, tensor, reduce)


def _store(what: str, tensor: Tensor, overwrite: Any) -> None:
    """Call ``overwrite`` with the array of ``tensor``, or with a contiguous copy, which is then written back."""
    array = tensor._array

    def store() -> None:
        try:
            if array.flags.c_contiguous:
                overwrite(array)
            else:
                packed = array.copy(order="C")
                overwrite(packed)
                array[...] = packed
        except RuntimeError:  # a rank is missing, and an unknown part of the tensor was written
            tensor._storage.version += 1
            raise

    write(tensor._storage, array, what, None, store)
    if watch.listener is not None:
        watch.listener(TensorWritten(tensor, what, (tensor,), None))
