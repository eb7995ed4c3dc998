"""Choose a device, and measure its memory, under Paddle's names."""

from minitensor.device import cpu, cuda
from minitensor.engine.device.memory_error import OutOfMemoryError
from minitensor.engine.device.places import get_device, set_device

__all__ = ["OutOfMemoryError", "cpu", "cuda", "get_device", "set_device"]
