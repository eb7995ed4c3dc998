"""``torch.cuda``: the GPU and its memory. All sizes are in bytes.

Without a CUDA device, the GPU is the simulated one, which prints a note when it is first used.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from minitensor.device import cuda as engine
from minitensor.engine.creation import moving
from minitensor.engine.device.arrays import gpu_of
from minitensor.engine.device.places import device_named
from minitensor.torch.dtypes import device as Device
from minitensor.torch.dtypes import engine_place
from minitensor.torch.errors import missing_in
from minitensor.torch.generator import default_generator
from minitensor.torch.tensor import Tensor, as_torch

__all__ = [
    *("amp", "current_device", "device_count", "empty_cache", "is_available", "manual_seed", "manual_seed_all"),
    *("max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved"),
    *("reset_max_memory_allocated", "reset_peak_memory_stats", "set_device", "synchronize"),
]


def _for_device(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a ``function`` of the engine so that it accepts PyTorch's names of devices."""

    @functools.wraps(function)
    def on_device(device: Any = None) -> Any:
        return function(None if device is None else engine_place(device))

    return on_device


max_memory_allocated = _for_device(engine.max_memory_allocated)
max_memory_reserved = _for_device(engine.max_memory_reserved)
memory_allocated = _for_device(engine.memory_allocated)
memory_reserved = _for_device(engine.memory_reserved)
reset_max_memory_allocated = _for_device(engine.reset_max_memory_allocated)
reset_peak_memory_stats = _for_device(engine.reset_peak_memory_stats)
synchronize = _for_device(engine.synchronize)
empty_cache = engine.empty_cache


def is_available() -> bool:
    """Return True, because a simulated GPU replaces a missing CUDA device."""
    return True


def device_count() -> int:
    """Return 1: minitensor uses one CUDA device, or the simulated GPU if there is none."""
    return 1


def current_device() -> int:
    """Return 0, the number of the only GPU."""
    return 0


def set_device(device: Any) -> None:
    """Check that ``device`` is the GPU. There is only one, so there is nothing to choose.

    Raises:
        ValueError: if ``device`` is the host.
        RuntimeError: if there is no such device.
    """
    if Device(device).type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {device}\nset_default_device() also accepts the host.")
    engine_place(device)


def manual_seed(seed: int) -> None:
    """Restart the random numbers with ``seed``. All devices share one generator.

    Raises:
        TypeError: if ``seed`` is not an integer.
    """
    default_generator.manual_seed(seed)


manual_seed_all = manual_seed


def move(x: Tensor, device: Any) -> Tensor:
    """Return ``x`` itself if it is on ``device``, else a copy on ``device``. Gradients flow through the copy."""
    gpu = device_named("to", engine_place(device))
    return x if gpu_of(x._array) is gpu else as_torch(moving.move_to(x, gpu))


def as_gpu(device: Any) -> Any:
    """Return the argument ``device`` of ``x.cuda(device)``, or "cuda" if it is None.

    Raises:
        RuntimeError: if ``device`` is the host.
    """
    if device is not None and Device(device).type != "cuda":
        raise RuntimeError(f"Invalid device, must be cuda device\nUse cpu() instead of cuda({str(device)!r}).")
    return "cuda" if device is None else device


def cuda(input: Tensor, device: Any = None, non_blocking: bool = False) -> Tensor:
    """Return the tensor itself if it is on the GPU, else a copy on the GPU, with the same shape and dtype.
    Gradients flow through the copy.

    Raises:
        RuntimeError: if there is no such device, or if it is the host.
        OutOfMemoryError: if the GPU has too little free memory for the copy.
    """
    return move(input, as_gpu(device))


def cpu(input: Tensor) -> Tensor:
    """Return the tensor itself if it is on the host, else a copy on the host, with the same shape and dtype."""
    return move(input, "cpu")


__getattr__ = missing_in("torch.cuda", lambda: __all__)
