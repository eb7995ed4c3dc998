"""Measure and free the memory of a GPU, under Paddle's names. All sizes are in bytes.

``device`` is a place, a name such as ``"gpu:sim"``, or the number of a GPU. The default is the GPU on which new tensors
are created or, if they are created on the host, ``"gpu"``. If there is no such GPU, these functions raise a ValueError,
and the functions of the same names in ``minitensor.torch.cuda`` a RuntimeError.
"""

from __future__ import annotations

from typing import Any

from minitensor.engine import checks
from minitensor.engine.checks import shown
from minitensor.engine.device.places import cuda_device, current, device_named


def _gpu(device: Any = None) -> Any:
    """Return the GPU ``device``, or the default GPU for None.

    Raises:
        ValueError: if there is no such GPU.
    """
    if device is None:
        return current.gpu if current.gpu is not None else device_named("device.cuda", "gpu")
    if isinstance(device, int) and not isinstance(device, bool):
        device = f"gpu:{checks.integer('device.cuda', 'device', device)}"
    gpu = device_named("device.cuda", device)
    if gpu is None:
        raise ValueError(f"device.cuda needs a GPU, not {shown(device)}; for the host use device.cpu")
    return gpu


def memory_allocated(device: Any = None) -> int:
    """Return the number of bytes in use, including those by which the allocator rounded up each request.

    Raises:
        ValueError: if there is no such GPU.
    """
    return _gpu(device).counters().allocated


def max_memory_allocated(device: Any = None) -> int:
    """Return the largest number of bytes in use since the start or the last reset.

    Raises:
        ValueError: if there is no such GPU.
    """
    return _gpu(device).counters().max_allocated


def memory_reserved(device: Any = None) -> int:
    """Return the bytes that the allocator has reserved: those in use, and those cached for later requests.

    Raises:
        ValueError: if there is no such GPU.
    """
    return _gpu(device).counters().reserved


def max_memory_reserved(device: Any = None) -> int:
    """Return the largest number of reserved bytes since the start or the last reset.

    Raises:
        ValueError: if there is no such GPU.
    """
    return _gpu(device).counters().max_reserved


def reset_max_memory_allocated(device: Any = None) -> None:
    """Reset the peak of the bytes in use to the current number.

    Raises:
        ValueError: if there is no such GPU.
    """
    counters = _gpu(device).counters()
    counters.max_allocated = counters.allocated


def reset_max_memory_reserved(device: Any = None) -> None:
    """Reset the peak of the reserved bytes to the current number.

    Raises:
        ValueError: if there is no such GPU.
    """
    counters = _gpu(device).counters()
    counters.max_reserved = counters.reserved


def reset_peak_memory_stats(device: Any = None) -> None:
    """Reset both peaks to the current numbers.

    Raises:
        ValueError: if there is no such GPU.
    """
    reset_max_memory_allocated(device)
    reset_max_memory_reserved(device)


def empty_cache() -> None:
    """Free the cached memory of the default GPU: the reserved bytes that are not in use."""
    _gpu().empty_cache()


def synchronize(device: Any = None) -> None:
    """Wait until the device has finished all its work.

    Raises:
        ValueError: if there is no such GPU.
    """
    _gpu(device).synchronize()


def device_count() -> int:
    """Return 1 if there is a CUDA device, else 0. The simulated GPU is not counted."""
    return 0 if cuda_device() is None else 1
