"""``torch.accelerator``: the accelerator that programs ask for without naming its kind."""

from __future__ import annotations

from minitensor.torch import cuda
from minitensor.torch.dtypes import device
from minitensor.torch.errors import missing_in

__all__ = ["current_accelerator", "device_count", "is_available", "synchronize"]


def is_available() -> bool:
    """Whether there is one: where no CUDA device is, the simulated GPU answers."""
    return cuda.is_available()


def device_count() -> int:
    """How many there are. Nothing is refused."""
    return cuda.device_count()


def current_accelerator(check_available: bool = False) -> device | None:
    """The kind of device that new tensors would be accelerated on; None where there is none."""
    return device("cuda") if is_available() else None


def synchronize(device: object = None) -> None:
    """Wait until the device has done what it was given."""
    cuda.synchronize()


__getattr__ = missing_in("torch.accelerator", lambda: __all__)
