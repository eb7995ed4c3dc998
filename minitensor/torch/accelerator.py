"""``torch.accelerator``: the GPU, for programs that do not name the kind of their accelerator."""

from __future__ import annotations

from minitensor.torch import cuda
from minitensor.torch.dtypes import device
from minitensor.torch.errors import missing_in

__all__ = ["current_accelerator", "device_count", "is_available", "synchronize"]


def is_available() -> bool:
    """Return True: without a CUDA device, the simulated GPU is the accelerator."""
    return cuda.is_available()


def device_count() -> int:
    """Return 1, as ``torch.cuda.device_count`` does."""
    return cuda.device_count()


def current_accelerator(check_available: bool = False) -> device | None:
    """Return the device ``cuda``, which may be the simulated GPU. ``check_available`` has no effect."""
    return device("cuda")


def synchronize(device: object = None) -> None:
    """Wait until the GPU has finished its work. ``device`` has no effect."""
    cuda.synchronize()


__getattr__ = missing_in("torch.accelerator", lambda: __all__)
