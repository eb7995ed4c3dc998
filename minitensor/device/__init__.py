"""Where storages live: the host, a simulated GPU, or a real one through CuPy; and how many bytes they take there.

Every byte that the engine allocates is counted here, and uncounted when its last holder lets go.
May import: the ground files.
"""

from minitensor.device import cpu, cuda
from minitensor.device.memory_error import OutOfMemoryError
from minitensor.device.places import get_device, set_device

__all__ = ["OutOfMemoryError", "cpu", "cuda", "get_device", "set_device"]
