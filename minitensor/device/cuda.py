"""Memory of the current GPU, under Paddle's names. All sizes in bytes."""

from __future__ import annotations

from typing import Any

from minitensor.device.places import cuda_device, current, device_named


def _gpu(device: Any = None) -> Any:
    """The GPU meant: the current one, that of a name, of a place, or of a number (0).

    Raises:
        ValueError: there is no such GPU.
    """
    if device is None:
        return current.gpu if current.gpu is not None else device_named("device.cuda", "gpu")
    if isinstance(device, int) and not isinstance(device, bool):
        device = f"gpu:{device}"
    gpu = device_named("device.cuda", device)
    if gpu is None:
        raise ValueError(f"device.cuda counts the memory of a GPU, not of {device!r}; see device.cpu")
    return gpu


def memory_allocated(device: Any = None) -> int:
    """Bytes in use now, as the allocator counts them.

    Raises:
        ValueError: there is no such GPU; for ``torch.cuda``, RuntimeError.
    """
    return _gpu(device).counters().allocated


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that were in use at once, since the start or the last reset.

    Raises:
        ValueError: there is no such GPU; for ``torch.cuda``, RuntimeError.
    """
    return _gpu(device).counters().max_allocated


def memory_reserved(device: Any = None) -> int:
    """Bytes that the allocator holds: in use, and kept for the next request.

    Raises:
        ValueError: there is no such GPU; for ``torch.cuda``, RuntimeError.
    """
    return _gpu(device).counters().reserved


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes that it held at once, since the start or the last reset.

    Raises:
        ValueError: there is no such GPU; for ``torch.cuda``, RuntimeError.
    """
    return _gpu(device).counters().max_reserved


def reset_max_memory_allocated(device: Any = None) -> None:
    """Begin anew the most bytes in use, with what is in use now.

    Raises:
        ValueError: there is no such GPU; for ``torch.cuda``, RuntimeError.
    """
    counters = _gpu(device).counters()
    counters.max_allocated = counters.allocated


def reset_max_memory_reserved(device: Any = None) -> None:
    """Begin anew the most bytes held, with what is held now.

    Raises:
        ValueError: there is no such GPU; for ``torch.cuda``, RuntimeError.
    """
    counters = _gpu(device).counters()
    counters.max_reserved = counters.reserved


def reset_peak_memory_stats(device: Any = None) -> None:
    """Begin both peaks anew.

    Raises:
        ValueError: there is no such GPU; for ``torch.cuda``, RuntimeError.
    """
    reset_max_memory_allocated(device)
    reset_max_memory_reserved(device)


def empty_cache() -> None:
    """Give what is held and not in use back to the device. Nothing is refused."""
    _gpu().empty_cache()


def synchronize(device: Any = None) -> None:
    """Wait until the device has done all it was asked to.

    Raises:
        ValueError: there is no such GPU; for ``torch.cuda``, RuntimeError.
    """
    _gpu(device).synchronize()


def device_count() -> int:
    """How many CUDA devices there are; the simulated GPU is none."""
    return 0 if cuda_device() is None else 1
