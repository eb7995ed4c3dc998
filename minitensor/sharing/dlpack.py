"""DLPack and the CUDA array interface: how libraries share memory without knowing each other.

``np.from_dlpack(x)``, ``torch.from_dlpack(x)`` and the like look at the memory of a tensor; :func:`from_dlpack` makes a
tensor that looks at theirs. No byte is copied. For the host numpy makes the capsules and reads them. Lifetimes,
counting and versions are those of :mod:`minitensor.sharing.borrowing`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitensor.core.tensor import Tensor
from minitensor.device.arrays import gpu_of
from minitensor.device.places import place_of
from minitensor.sharing.borrowing import borrowed, entry_of, lent, plain

#: Device types of the protocol.
CPU, CUDA = 1, 2

#: numpy 2.0 speaks the first form of the protocol only, which cannot tell that memory is read-only.
_SPEAKS_VERSIONS = np.lib.NumpyVersion(np.__version__) >= "2.1.0"


def _refuse_gradient(x: Tensor, what: str) -> None:
    if not x.stop_gradient:
        raise BufferError(
            f"{what}: this tensor wants a gradient, which would not know of what others write. Use `x.detach()`."
        )


def _refuse_simulated(x: Tensor, what: str) -> None:
    gpu = gpu_of(x._array)
    if gpu is not None and gpu.name.endswith(":sim"):
        raise BufferError(
            f"{what}: this tensor lies on a simulated GPU, {place_of(gpu)}, which no other library "
            f"knows. Use `x.cpu()`."
        )


def dlpack_device(x: Tensor) -> tuple[int, int]:
    """The type and the number of the device, as DLPack has them: (1, 0) for the host.

    Raises:
        BufferError: for a simulated GPU.
    """
    _refuse_simulated(x, "__dlpack_device__")
    return (CPU, 0) if gpu_of(x._array) is None else x._array.__dlpack_device__()


def dlpack(
    x: Tensor,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """A DLPack capsule of the memory of ``x``: with a version and flags where ``max_version`` allows, else without.

    Not called by hand: ``np.from_dlpack(x)`` and ``torch.from_dlpack(x)`` do. The storage lives as long as the capsule
    and what was made of it.

    Args:
        stream: None for the host; what CuPy makes of it on a CUDA device.
        dl_device: the device that the consumer wants; only the one where the tensor lies.
        copy: True for a copy, which shares nothing.

    Raises:
        BufferError: if the tensor wants a gradient, lies on a simulated GPU, or is read-only where the capsule
            cannot say so.
    """
    _refuse_gradient(x, "__dlpack__")
    _refuse_simulated(x, "__dlpack__")
    if gpu_of(x._array) is not None:
        entry_of(x._storage).for_good = True
        return x._array.__dlpack__(stream=stream)
    if stream is not None:
        raise BufferError(f"__dlpack__: the host has no streams; stream must be None, not {stream!r}")
    if dl_device is not None and tuple(dl_device) != (CPU, 0):
        raise BufferError(f"__dlpack__: the tensor lies on the host, device ({CPU}, 0), not on {tuple(dl_device)}")
    array = x._array.copy() if copy else lent(x)
    told = _SPEAKS_VERSIONS and max_version is not None and max_version[0] >= 1
    if not told and not array.flags.writeable:
        raise BufferError(
            "__dlpack__: this tensor is read-only, and a capsule without a version cannot say so. Use `x.clone()`, or "
            "a consumer that asks for max_version (1, 0)."
        )
    return array.__dlpack__(max_version=max_version) if told else array.__dlpack__()


class _Capsule:
    """What gives a capsule that was made before."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU, 0  # numpy reads the true one in the capsule


def from_dlpack(source: Any) -> Tensor:
    """A tensor that shares the memory of ``source``, which has ``__dlpack__`` or is a capsule. Nothing is copied.

    The tensor wants no gradient. It is read-only where the producer says so, or cannot say: a capsule without a
    version has no place for it, and is taken as numpy takes it.

    Raises:
        TypeError: for anything else, and for dtypes that tensors do not have.
        BufferError: if the memory is not the host's, or the producer refuses.
        ValueError: as :func:`from_numpy`.
    """
    if isinstance(source, np.ndarray):
        return borrowed("from_dlpack", plain("from_dlpack", source))
    if type(source).__name__ == "PyCapsule":
        source = _Capsule(source)
    if not hasattr(source, "__dlpack__") or not hasattr(source, "__dlpack_device__"):
        raise TypeError(
            f"from_dlpack takes an object with __dlpack__ and __dlpack_device__, or a DLPack capsule, not "
            f"{type(source).__name__}"
        )
    device = int(source.__dlpack_device__()[0])
    if device == CUDA:
        raise BufferError("from_dlpack: this memory lies on a CUDA device. Bring it to the host first, as by `.cpu()`.")
    try:
        array = np.from_dlpack(source)
    except (BufferError, RuntimeError) as error:
        raise BufferError(f"from_dlpack: {error}") from error
    return borrowed("from_dlpack", plain("from_dlpack", array))


# ---------- CUDA ----------


def cuda_array_interface(x: Tensor) -> dict[str, Any]:
    """Where the elements lie in the memory of a CUDA device. CuPy, Numba and torch ask for it.

    Raises:
        AttributeError: unless the tensor lies on a CUDA device.
        RuntimeError: if it wants a gradient.
    """
    found = getattr(x._array, "__cuda_array_interface__", None)
    if found is None:
        raise AttributeError(f"only a tensor on a CUDA device has __cuda_array_interface__; this one is on {x.place}")
    if not x.stop_gradient:
        raise RuntimeError("__cuda_array_interface__: this tensor wants a gradient; use `x.detach()`")
    entry_of(x._storage).for_good = True  # whoever reads the address does not say when it is done
    return dict(found)


Tensor.__dlpack__ = dlpack
Tensor.__dlpack_device__ = dlpack_device
Tensor.__cuda_array_interface__ = property(cuda_array_interface)
