"""Devices, as Paddle's programs ask for them."""

from __future__ import annotations

from minitensor.device import cuda


def is_compiled_with_cuda() -> bool:
    """Whether a CUDA device answers. The simulated GPU is none; ``set_device("gpu")`` works without one."""
    return cuda.device_count() > 0


def CPUPlace() -> str:
    """The name of the host, as ``Tensor.place`` shows it."""
    return "Place(cpu)"


def CUDAPlace(id: int = 0) -> str:
    """The name of the GPU of that number, as a ``place`` argument takes it; one that is not there is refused where it
    is used.
    """
    return f"Place(gpu:{id})"
