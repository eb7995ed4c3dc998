"""Names for ``grad_fn`` where several operations stand for one of PyTorch's; and what is no tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitensor.core.history import Operation
from minitensor.core.tensor import Tensor as BaseTensor
from minitensor.device.arrays import gpu_of
from minitensor.torch.tensor import Tensor


class Renamed(Operation):
    """An operation under another name for ``grad_fn``."""

    __slots__ = ("torch_name", "operands")

    torch_name: str
    operands: tuple[str, ...]


def called(out: Tensor, name: str) -> Tensor:
    """``out``, whose last function is shown as ``name``: PyTorch has one function where several were run here."""
    node = out._node
    if node is not None and type(node.op) is not Renamed:
        op = Renamed(node.op.name, node.op.backward, node.op.saved_names, node.op.jvp)
        if node.op.jvp is None:
            before = node.op
            op.later = lambda: before.on_tensors
        op.torch_name, op.operands = name, getattr(node.op, "operands", ())
        node.op = op
    return out


def need_tensor(op: str, x: Any, position: int = 1, name: str = "input") -> None:
    """Raise TypeError unless ``x`` is a tensor."""
    if not isinstance(x, BaseTensor):
        raise TypeError(f"{op}(): argument '{name}' (position {position}) must be Tensor, not {type(x).__name__}")


def plain(x: Tensor, array: Any, name: str) -> Tensor:
    """A tensor of ``array`` without history, computed from ``x`` by ``name``."""
    if gpu_of(x._array) is None:
        array = np.asarray(array)
    return Tensor._made(array, name, (x,))
