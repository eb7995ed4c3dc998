"""Device names for Paddle's programs."""

from __future__ import annotations

from minitensor.device import cuda
from minitensor.engine import checks


def is_compiled_with_cuda() -> bool:
    """True if there is a CUDA device. The simulated GPU does not count."""
    return cuda.device_count() > 0


def CPUPlace() -> str:
    """Return the name of the host, as in ``Tensor.place``."""
    return "Place(cpu)"


def CUDAPlace(id: int = 0) -> str:
    """Return the name of the GPU ``id``, for a ``place`` argument.

    This function does not check that there is such a GPU. The function to which the name is passed checks it.

    Raises:
        TypeError: if ``id`` is not an integer.
    """
    return f"Place(gpu:{checks.integer('CUDAPlace', 'id', id)})"
