"""Count the memory of the current GPU, under Paddle's names. All sizes are in bytes."""

from __future__ import annotations

from typing import Any

from minitensor.engine import checks
from minitensor.engine.checks import shown
from minitensor.engine.device.places import cuda_device, current, device_named


def _gpu(device: Any = None) -> Any:
    """Return the current GPU, or the one that a name, a place or a number (0) denotes.

    Raises:
        ValueError: there is no such GPU.
    """
    if device is None:
        return current.gpu if current.gpu is not None else device_named("device.cuda", "gpu")
    if isinstance(device, int) and not isinstance(device, bool):
        device = f"gpu:{checks.integer('device.cuda', 'device', device)}"
    gpu = device_named("device.cuda", device)
    if gpu is None:
        raise ValueError(f"device.cuda counts the memory of a GPU, not of {shown(device)}; see device.cpu")
    return gpu


def memory_allocated(device: Any = None) -> int:
    """Return the bytes in use, as the allocator counts them.

    Raises:
        ValueError: if there is no such GPU. (Through ``torch.cuda`` it is a RuntimeError.)
    """
    return _gpu(device).counters().allocated


def max_memory_allocated(device: Any = None) -> int:
    """Return the peak of bytes in use since the start or the last reset.

    Raises:
        ValueError: if there is no such GPU. (Through ``torch.cuda`` it is a RuntimeError.)
    """
    return _gpu(device).counters().max_allocated


def memory_reserved(device: Any = None) -> int:
    """Return the bytes that the allocator has reserved: those in use, and those cached for later requests.

    Raises:
        ValueError: if there is no such GPU. (Through ``torch.cuda`` it is a RuntimeError.)
    """
    return _gpu(device).counters().reserved


def max_memory_reserved(device: Any = None) -> int:
    """Return the peak of reserved bytes since the start or the last reset.

    Raises:
        ValueError: if there is no such GPU. (Through ``torch.cuda`` it is a RuntimeError.)
    """
    return _gpu(device).counters().max_reserved


def reset_max_memory_allocated(device: Any = None) -> None:
    """Reset the peak of bytes in use to the current number.

    Raises:
        ValueError: if there is no such GPU. (Through ``torch.cuda`` it is a RuntimeError.)
    """
    counters = _gpu(device).counters()
    counters.max_allocated = counters.allocated


def reset_max_memory_reserved(device: Any = None) -> None:
    """Reset the peak of reserved bytes to the current number.

    Raises:
        ValueError: if there is no such GPU. (Through ``torch.cuda`` it is a RuntimeError.)
    """
    counters = _gpu(device).counters()
    counters.max_reserved = counters.reserved


def reset_peak_memory_stats(device: Any = None) -> None:
    """Reset both peaks.

    Raises:
        ValueError: if there is no such GPU. (Through ``torch.cuda`` it is a RuntimeError.)
    """
    reset_max_memory_allocated(device)
    reset_max_memory_reserved(device)


def empty_cache() -> None:
    """Return reserved memory that is not in use to the device. No call is refused."""
    _gpu().empty_cache()


def synchronize(device: Any = None) -> None:
    """Wait until the device has finished all its work.

    Raises:
        ValueError: if there is no such GPU. (Through ``torch.cuda`` it is a RuntimeError.)
    """
    _gpu(device).synchronize()


def device_count() -> int:
    """Return the number of CUDA devices; the simulated GPU does not count."""
    return 0 if cuda_device() is None else 1
