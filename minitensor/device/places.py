"""The devices there are, and the one on which new tensors are made.

``cpu`` is always there. ``gpu`` is a CUDA device, by way of CuPy, where one answers; otherwise a simulated GPU, which
says so. ``gpu:sim`` is always the simulated one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from minitensor.device.simulated import SimulatedGpu

#: What a simulated GPU has when nothing else is said: as much as the card of a laptop.
CAPACITY = 8 << 30

_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30}


class Current:
    """``gpu``: where new tensors are made; None for the host. ``simulated``: the simulated GPU, once there is one."""

    __slots__ = ("gpu", "simulated")

    def __init__(self) -> None:
        self.gpu: Any = None
        self.simulated: SimulatedGpu | None = None


current = Current()


@contextmanager
def using(gpu: Any) -> Iterator[None]:
    """Make new tensors on ``gpu`` (None: the host) inside the ``with`` block."""
    before, current.gpu = current.gpu, gpu
    try:
        yield
    finally:
        current.gpu = before


def bytes_in(capacity: Any) -> int:
    """A number of bytes given as an integer or as text, as ``"256 MiB"``.

    Raises:
        TypeError, ValueError: when it is neither.
    """
    if isinstance(capacity, (int, np.integer)) and not isinstance(capacity, bool) and capacity > 0:
        return int(capacity)
    if isinstance(capacity, str):
        found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMG]i?B|B)\s*", capacity, re.IGNORECASE)
        if found and float(found[1]) > 0:
            return int(float(found[1]) * _UNITS[found[2].upper()])
        raise ValueError(f"a capacity is a number of bytes or a text such as '256 MiB', not {capacity!r}")
    raise TypeError(f"a capacity is a number of bytes or a text such as '256 MiB', not {capacity!r}")


def set_device(device: str, capacity: Any = None, profile: str | None = None) -> Any:
    """Make new tensors on ``device`` from now on.

    Args:
        device: ``"cpu"``, ``"gpu"`` (a CUDA device by way of CuPy where there is one, else the simulated GPU), or
            ``"gpu:sim"``.
        capacity: of the simulated GPU, in bytes or as ``"256 MiB"``; giving it, or a profile, starts a new one.
        profile: whose rounding the simulated GPU's allocator follows: ``"torch"`` (the default) or ``"paddle"``.

    Returns:
        The place, as ``Tensor.place`` shows it.

    Raises:
        ValueError: for another device, capacity or profile.
    """
    gpu = device_named("set_device", device, capacity, profile)
    current.gpu = gpu
    return place_of(gpu)


def get_device() -> str:
    """Where new tensors are made: ``"cpu"``, ``"gpu:0"`` or ``"gpu:sim"``."""
    return "cpu" if current.gpu is None else current.gpu.name


def device_named(op: str, device: Any, capacity: Any = None, profile: str | None = None) -> Any:
    """The GPU of that name; None for the host."""
    name = str(device).removeprefix("Place(").removesuffix(")")
    name = {"cuda": "gpu", "cuda:0": "gpu:0", "gpu_pinned": "cpu"}.get(name, name)
    if name not in ("cpu", "gpu", "gpu:0", "gpu:sim"):
        raise ValueError(f"{op}: there is no device {device!r}; there are 'cpu', 'gpu' and 'gpu:sim'")
    if name == "cpu" or name == "gpu:0" or name == "gpu":
        if (capacity is not None or profile is not None) and name != "gpu":
            raise ValueError(f"{op}: only the simulated GPU ('gpu:sim') has a capacity and a profile to choose")
        if name == "cpu":
            return None
        real = _cuda()
        if real is not None:
            return real
    return _simulated(name, capacity, profile)


def _cuda() -> Any:
    """The CUDA device, or None."""
    try:
        from minitensor.device import cuda_arrays
    except ImportError:
        return None
    return cuda_arrays.gpu()


def _simulated(asked: str, capacity: Any, profile: str | None) -> SimulatedGpu:
    if current.simulated is None or capacity is not None or profile is not None:
        first = current.simulated is None
        size = CAPACITY if capacity is None else bytes_in(capacity)
        current.simulated = SimulatedGpu(size, "torch" if profile is None else profile)
        if first and asked != "gpu:sim":
            print(
                f"minitensor: no CUDA device answers, so 'gpu' is a simulated GPU of {size / (1 << 30):g} GiB: its "
                f"memory is the host's, its allocator's figures are computed.",
                file=sys.stderr,
            )
    return current.simulated


def place_of(gpu: Any) -> str:
    """How ``Tensor.place`` shows a device."""
    if gpu is None:
        return "Place(cpu)"
    return f"Place({gpu.name})"
