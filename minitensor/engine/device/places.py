"""The available devices, and the device on which new tensors are created.

``cpu`` is always available. ``gpu`` is a CUDA device through CuPy if there is one; otherwise it is a simulated GPU,
and a message announces it. ``gpu:sim`` is always the simulated one.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from minitensor.engine.checks import NUMPY_INTEGERS, shown
from minitensor.engine.device.memory_error import bytes_text

if TYPE_CHECKING:
    from minitensor.engine.device.simulated import SimulatedGpu

#: The default capacity of a simulated GPU: as much memory as the graphics card of a laptop has.
CAPACITY = 8 << 30

_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30}


class Chosen(threading.local):
    """The device of new tensors, separate for each thread. Every thread begins with the host."""

    gpu: Any = None


class Current:
    """The chosen and detected devices.

    Attributes:
        gpu: the device of this thread's new tensors; None for the host.
        simulated: the simulated GPU; None until it is created.
        announced: true after the program printed that "gpu" is a simulated GPU.
        cuda: the CUDA device; None if the program has not searched for it yet, or found none.
        no_cuda: the reason why there is no CUDA device; None if the program has not searched yet, or found a device.
    """

    __slots__ = ("_chosen", "simulated", "announced", "cuda", "no_cuda")

    def __init__(self) -> None:
        self._chosen = Chosen()
        self.simulated: SimulatedGpu | None = None
        self.announced = False
        self.cuda: Any = None
        self.no_cuda: str | None = None

    @property
    def gpu(self) -> Any:
        """The device of this thread's new tensors; None for the host."""
        return self._chosen.gpu

    @gpu.setter
    def gpu(self, gpu: Any) -> None:
        self._chosen.gpu = gpu


current = Current()


@contextmanager
def using(gpu: Any) -> Iterator[None]:
    """Create new tensors on ``gpu`` (None: the host) inside the ``with`` block."""
    before, current.gpu = current.gpu, gpu
    try:
        yield
    finally:
        current.gpu = before


class Place(str):
    """A device, as ``Tensor.place`` returns it, such as ``Place(gpu:sim)``. ``x.place == "gpu:sim"`` is true, too.

    Two simulated GPUs have the same name, but their places are not equal.

    Attributes:
        gpu: the object of the GPU; None for the host.
    """

    __slots__ = ("gpu",)

    gpu: Any

    def __new__(cls, gpu: Any) -> Place:
        place = super().__new__(cls, "Place(cpu)" if gpu is None else f"Place({gpu.name})")
        place.gpu = gpu
        return place

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Place):
            return self.gpu is other.gpu
        return isinstance(other, str) and other in (str(self), str(self)[len("Place(") : -1])

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (str(self),)


def bytes_in(capacity: Any) -> int:
    """Return a number of bytes, given as an integer or as ``"256 MiB"``; raise TypeError or ValueError otherwise."""
    if isinstance(capacity, (int, NUMPY_INTEGERS)) and not isinstance(capacity, bool):
        if capacity < 1:
            raise ValueError(f"capacity must be at least 1 byte, not {capacity}")
        return int(capacity)
    if isinstance(capacity, str):
        found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMG]i?B|B)\s*", capacity, re.IGNORECASE)
        size = int(float(found[1]) * _UNITS[found[2].upper()]) if found else 0
        if size > 0:
            return size
    error = ValueError if isinstance(capacity, str) else TypeError
    raise error(f"a capacity is a number of bytes or a text such as '256 MiB', not {shown(capacity)}")


def set_device(device: str, capacity: Any = None, profile: str | None = None) -> Any:
    """Create the new tensors of this thread on ``device`` from now on.

    Args:
        device: ``"cpu"``, ``"gpu"`` (a CUDA device through CuPy if there is one, else the simulated GPU), or
            ``"gpu:sim"``.
        capacity: the memory of the simulated GPU, in bytes or as ``"256 MiB"``. If ``capacity`` or ``profile`` is
            given, a new simulated GPU is created.
        profile: the rules of the simulated GPU's allocator: ``"torch"`` (the default) or ``"paddle"``.

    Returns:
        The place, as ``Tensor.place`` returns it.

    Raises:
        ValueError: if there is no such device or profile, or if the capacity is less than 1 byte or cannot be chosen.
        TypeError: if the capacity is neither an integer nor a text.
    """
    gpu = device_named("set_device", device, capacity, profile)
    current.gpu = gpu
    return Place(gpu)


def get_device() -> str:
    """Return the name of the device for new tensors: ``"cpu"``, ``"gpu:0"`` or ``"gpu:sim"``."""
    return "cpu" if current.gpu is None else current.gpu.name


def device_named(op: str, device: Any, capacity: Any = None, profile: str | None = None) -> Any:
    """Return the GPU that ``device`` names; None for the host. Raise ValueError if there is no such device."""
    if isinstance(device, Place) and capacity is None and profile is None:
        return device.gpu  # works even for a simulated GPU that was replaced
    name = device.removeprefix("Place(").removesuffix(")") if isinstance(device, str) else None
    name = {"cuda": "gpu", "cuda:0": "gpu:0", "gpu_pinned": "cpu"}.get(name, name)  # type: ignore[arg-type]  # None stays None
    if name not in ("cpu", "gpu", "gpu:0", "gpu:sim"):
        raise ValueError(f"{op}: there is no device {shown(device)}; there are 'cpu', 'gpu' and 'gpu:sim'")
    if name != "gpu:sim":
        if (capacity is not None or profile is not None) and name != "gpu":
            raise ValueError(f"{op}: only the simulated GPU ('gpu:sim') has a capacity and a profile to choose")
        if name == "cpu":
            return None
        real = cuda_device()
        if real is not None:
            if capacity is not None or profile is not None:
                raise ValueError(
                    f"{op}: 'gpu' is a CUDA device here, whose capacity is fixed. Use 'gpu:sim' to choose a capacity "
                    f"or a profile."
                )
            return real
    return _simulate(name, capacity, profile)


def cuda_device() -> Any:
    """Return the CUDA device, or None if there is none. Only the first call searches for it."""
    if current.cuda is None and current.no_cuda is None:
        current.cuda, current.no_cuda = _find_cuda()
    return current.cuda


def _find_cuda() -> tuple[Any, str | None]:
    """Return the CUDA device and None, or, if there is no CUDA device, None and the reason."""
    try:
        from minitensor.engine.device.cuda_arrays import CudaGpu, NoDeviceError
    except ModuleNotFoundError as error:
        return None, "CuPy is not installed" if error.name == "cupy" else f"CuPy lacks {error.name}"
    except Exception as error:  # CuPy may fail in many ways to load its libraries
        return None, f"CuPy does not load: {_first_line(error)}"
    try:
        return CudaGpu(), None
    except NoDeviceError as error:
        return None, str(error)


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip(" =")]
    return lines[0] if lines else type(error).__name__


def _simulate(asked: str, capacity: Any, profile: str | None) -> SimulatedGpu:
    if current.simulated is None or capacity is not None or profile is not None:
        from minitensor.engine.device.simulated import SimulatedGpu  # imported here: most programs need none

        size = CAPACITY if capacity is None else bytes_in(capacity)
        current.simulated = SimulatedGpu(size, "torch" if profile is None else profile)
    if asked != "gpu:sim" and not current.announced:
        current.announced = True
        print(
            f"minitensor: no CUDA device answers ({current.no_cuda}), so 'gpu' is a simulated GPU of "
            f"{bytes_text(current.simulated.allocator.capacity)}: it uses host memory and simulates an allocator.",
            file=sys.stderr,
        )
    return current.simulated
