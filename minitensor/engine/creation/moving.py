"""Copy tensors between devices. Gradients pass through the copies."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitensor.engine.checks import NUMPY_INTEGERS, integer
from minitensor.engine.core.history import Node, Operation, new_node
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.device.arrays import gpu_of, host_array
from minitensor.engine.device.places import device_named
from minitensor.engine.dtypes import DTYPES, DType, dtype_of
from minitensor.engine.modes import modes


def placed_on(gpu: Any, array: Any) -> Any:
    """Return a copy of ``array`` on ``gpu`` (None: the host)."""
    host = host_array(array)
    host = host.copy() if host is array else host
    return host if gpu is None else gpu.put(host)


def _move_backward(node: Node, g: Any) -> tuple[Any]:
    source, _ = node.saved
    return (placed_on(source, g),)


CPU, CUDA = (
    Operation(name, _move_backward, jvp=lambda node, _, u: placed_on(node.saved[1], u)) for name in ("cpu", "cuda")
)


def move_to(x: Tensor, gpu: Any) -> Tensor:
    """Return ``x`` itself if it is on ``gpu`` already, else a copy on ``gpu``."""
    source = gpu_of(x._array)
    if source is gpu:
        return x
    op = CPU if gpu is None else CUDA
    out = Tensor._made(placed_on(gpu, x._array), op.name, (x,))
    node = x._current()
    if modes.grad and node is not None:
        out._node = new_node(op, (node,), (source, gpu), out._array.shape)
    return out


def cpu(x: Tensor) -> Tensor:
    """Return ``x`` itself if it is on the host, else a copy in its shape and dtype; gradients pass through the copy."""
    return move_to(x, None)


def cuda(x: Tensor, device_id: Any = None, blocking: bool = True) -> Tensor:
    """Return ``x`` itself if it is on the GPU, else a copy in its shape and dtype; gradients pass through the copy.

    If there is no CUDA device, the simulated GPU is used. ``blocking`` is ignored.

    Raises:
        ValueError: if there is no such device.
        OutOfMemoryError: if the copy does not fit.
    """
    if isinstance(device_id, (int, *NUMPY_INTEGERS)):
        device_id = f"gpu:{integer('cuda', 'device_id', device_id)}"
    return move_to(x, device_named("cuda", "gpu" if device_id is None else device_id))


def to(x: Tensor, *where: Any, device: Any = None, dtype: Any = None, blocking: bool | None = None) -> Tensor:
    """Convert ``x`` to a device, a dtype, or those of a tensor: ``x.to("gpu")``, ``x.to("float64")``, ``x.to(other)``.

    ``blocking`` is ignored.

    Returns:
        ``x`` itself if nothing changes, else a copy in its shape. Gradients pass through the copy.

    Raises:
        ValueError: if there is no such device.
        TypeError: if a tensor cannot have the dtype.
        OutOfMemoryError: if the copy does not fit.
    """
    for each in where:
        if isinstance(each, Tensor):
            device, dtype = each.place, each.dtype
        elif isinstance(each, (DType, np.dtype, type)) or (isinstance(each, str) and each in DTYPES):
            dtype = each
        elif not isinstance(each, bool):  # Paddle's third argument, ``blocking``, is ignored
            device = each
    if device is not None:
        x = move_to(x, device_named("to", device))
    if dtype is not None and dtype_of(dtype).numpy is not x._array.dtype:
        x = x.astype(dtype)
    return x


for _function in (cpu, cuda, to):
    setattr(Tensor, _function.__name__, _function)
