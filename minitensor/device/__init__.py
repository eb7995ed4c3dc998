"""Devices of storages: the host, a simulated GPU, or a CUDA device through CuPy; and counters of their bytes.

Every byte that the engine allocates is counted here, and subtracted when its last reference is dropped.
May import: the ground files.
"""

from minitensor.device import cpu, cuda
from minitensor.device.memory_error import OutOfMemoryError
from minitensor.device.places import get_device, set_device

__all__ = ["OutOfMemoryError", "cpu", "cuda", "get_device", "set_device"]
