"""Where storages live, and how many bytes they take there."""

from minitensor.device import cpu, cuda
from minitensor.device.memory_error import OutOfMemoryError
from minitensor.device.places import get_device, set_device

__all__ = ["OutOfMemoryError", "cpu", "cuda", "get_device", "set_device"]
