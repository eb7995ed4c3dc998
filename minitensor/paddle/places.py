"""Device names for Paddle's programs."""

from __future__ import annotations

from minitensor.device import cuda


def is_compiled_with_cuda() -> bool:
    """True if there is a CUDA device. The simulated GPU does not count; ``set_device("gpu")`` works without one."""
    return cuda.device_count() > 0


def CPUPlace() -> str:
    """Return the name of the host, as in ``Tensor.place``."""
    return "Place(cpu)"


def CUDAPlace(id: int = 0) -> str:
    """Return the name of the GPU ``id`` for a ``place`` argument; a missing GPU is refused when it is used."""
    return f"Place(gpu:{id})"
