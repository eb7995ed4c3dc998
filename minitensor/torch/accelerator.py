"""``torch.accelerator``: the GPU, for programs that do not name the kind of their accelerator."""

from __future__ import annotations

from typing import Any

from minitensor.torch import cuda, dtypes
from minitensor.torch.errors import missing_in

__all__ = ["current_accelerator", "device_count", "is_available", "synchronize"]


def is_available() -> bool:
    """Return True: without a CUDA device, the simulated GPU is the accelerator."""
    return cuda.is_available()


def device_count() -> int:
    """Return 1, as ``torch.cuda.device_count`` does."""
    return cuda.device_count()


def current_accelerator(check_available: bool = False) -> dtypes.device | None:
    """Return the device ``cuda``, which may be the simulated GPU. ``check_available`` has no effect."""
    return dtypes.device("cuda")


def synchronize(device: Any = None) -> None:
    """Wait until the GPU has finished its work.

    Args:
        device: None, the number of the GPU, or a device ``cuda``.

    Raises:
        RuntimeError: if ``device`` is not a device, or there is no such GPU.
        ValueError: if it is another kind of device.
    """
    if device is not None and not isinstance(device, int) and (given := dtypes.device(device)).type != "cuda":
        raise ValueError(f"{given.type} doesn't match the current accelerator cuda.")
    cuda.synchronize(device)


__getattr__ = missing_in("torch.accelerator", lambda: __all__)
