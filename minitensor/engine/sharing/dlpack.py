"""DLPack and the CUDA array interface: protocols by which libraries share memory without depending on each other.

``np.from_dlpack(x)``, ``torch.from_dlpack(x)`` and similar functions return an array on the memory of a tensor;
:func:`from_dlpack` returns a tensor on the memory of another library's array. No byte is copied. For host memory, numpy
creates and reads the *capsules*, in which DLPack describes an array. :mod:`minitensor.engine.sharing.numpy_memory` has
the rules for lifetimes, counted bytes and versions.
"""

from __future__ import annotations

import ctypes
import operator
from contextlib import suppress
from typing import Any

import numpy as np

from minitensor.engine.checks import shown
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.device.arrays import gpu_of
from minitensor.engine.device.places import Place
from minitensor.engine.dtypes import HALVES, bfloat16
from minitensor.engine.sharing.numpy_memory import as_plain_array, borrow, entry_of, lend_memory

#: Device types of the DLPack protocol.
CPU, CUDA = 1, 2

#: True if numpy supports capsules with a version, which can mark memory as read-only; numpy 2.0 does not.
_HAS_VERSIONS = np.lib.NumpyVersion(np.__version__) >= "2.1.0"


def _refuse_simulated(x: Tensor, what: str) -> None:
    gpu = gpu_of(x._array)
    if gpu is not None and gpu.name.endswith(":sim"):
        raise BufferError(
            f"{what}: this tensor is on a simulated GPU, {Place(gpu)}, which no other library knows. Use `x.cpu()`."
        )


def dlpack_device(x: Tensor) -> tuple[int, int]:
    """Return the type and the number of the device in DLPack: (1, 0) for the host.

    Raises:
        BufferError: if the tensor is on a simulated GPU.
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
    """Return a DLPack capsule of the memory of ``x``, with a version and flags if ``max_version`` allows them.

    ``np.from_dlpack(x)`` and ``torch.from_dlpack(x)`` call this function as ``x.__dlpack__``. The capsule keeps the
    storage alive, and so do all arrays that are created from it.

    Args:
        stream: None on the host; on a CUDA device it is passed to CuPy.
        dl_device: the device that the caller requests; on the host it must be None or (1, 0).
        copy: True for a capsule of a copy, which shares nothing. On a CUDA device, it is ignored.

    Raises:
        BufferError: if the tensor requires a gradient, is on a simulated GPU, or is read-only while the capsule has no
            flag for that; for a tensor on the host, if ``stream`` or ``dl_device`` is not that of the host.
    """
    if not x.stop_gradient:
        raise BufferError(
            "__dlpack__: this tensor requires a gradient, and autograd would not notice writes from outside. Use "
            "`x.detach()`."
        )
    _refuse_simulated(x, "__dlpack__")
    if gpu_of(x._array) is not None:
        entry_of(x._storage).for_good = True
        return x._array.__dlpack__(stream=stream)
    if stream is not None:
        raise BufferError(f"__dlpack__: the host has no streams; stream must be None, not {shown(stream)}")
    if dl_device is not None and tuple(dl_device) != (CPU, 0):
        raise BufferError(f"__dlpack__: dl_device must be the host, ({CPU}, 0), not {tuple(dl_device)}")
    array = x._array.copy() if copy else lend_memory(x)
    is_versioned = _HAS_VERSIONS and max_version is not None and max_version[0] >= 1
    if not is_versioned and not array.flags.writeable:
        raise BufferError(
            "__dlpack__: this tensor is read-only, and a capsule without a version cannot record that. Use "
            "`x.clone()`, or a library that requests max_version (1, 0)."
        )
    options: dict[str, Any] = {"max_version": max_version} if is_versioned else {}
    if array.dtype not in HALVES or array.dtype == np.float16:
        return array.__dlpack__(**options)
    capsule = array.view(np.uint16).__dlpack__(**options)
    _code_of(capsule).value = BFLOAT  # bfloat16 has as many bits as uint16
    return capsule


# ---------- bfloat16, for which numpy makes no capsules ----------

#: Type codes of DLPack, and the byte offset of the type code in a capsule; the offset depends on the capsule's name.
UINT, BFLOAT = 1, 4
_CODE_AT = {b"dltensor": 20, b"dltensor_versioned": 52}


def _code_of(capsule: Any) -> Any:
    """Return the type code of a capsule as a ctypes byte. An assignment to its ``value`` changes the capsule."""
    python = ctypes.pythonapi
    python.PyCapsule_GetName.restype, python.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    python.PyCapsule_GetPointer.restype = ctypes.c_void_p
    python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    name = python.PyCapsule_GetName(capsule)
    if name not in _CODE_AT:
        raise BufferError(f"from_dlpack: the capsule {name!r} was used already, or holds no tensor")
    return ctypes.c_uint8.from_address(python.PyCapsule_GetPointer(capsule, name) + _CODE_AT[name])


class _Capsule:
    """An argument for ``np.from_dlpack``: an object whose ``__dlpack__`` returns an existing capsule.

    Attributes:
        is_bfloat16: True if the type code of the capsule was that of bfloat16. The code is changed to that of uint16,
            because numpy cannot read bfloat16 from a capsule.
    """

    def __init__(self, capsule: Any) -> None:
        self.capsule, code = capsule, _code_of(capsule)
        self.is_bfloat16 = code.value == BFLOAT
        if self.is_bfloat16:
            code.value = UINT

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU, 0  # numpy reads the device of the memory from the capsule


def from_dlpack(source: Any) -> Tensor:
    """Return a tensor that shares the memory of ``source``, which has ``__dlpack__`` or is a capsule.

    The tensor requires no gradient. It is read-only if the library that created the capsule marks the memory as
    read-only. A capsule without a version has no such mark; then the tensor is read-only if numpy returns a read-only
    array for the capsule.

    Raises:
        TypeError: for any other object, and for dtypes that tensors do not support.
        BufferError: if the memory is not on the host, or if ``source`` refuses to share it.
        ValueError: as in :func:`~minitensor.engine.sharing.numpy_memory.from_numpy`.
    """
    if isinstance(source, np.ndarray):
        return borrow("from_dlpack", as_plain_array("from_dlpack", source))
    if type(source).__name__ == "PyCapsule":
        source = _Capsule(source)
    if not hasattr(source, "__dlpack__") or not hasattr(source, "__dlpack_device__"):
        raise TypeError(
            f"from_dlpack takes an object with __dlpack__ and __dlpack_device__, or a DLPack capsule, not "
            f"{type(source).__name__}"
        )
    try:
        device = operator.index(source.__dlpack_device__()[0])
    except (TypeError, LookupError):
        raise TypeError(
            f"from_dlpack: __dlpack_device__ of {type(source).__name__} must return two numbers: the kind of device, "
            f"and the device"
        ) from None
    if device == CUDA:
        raise BufferError("from_dlpack: this memory is on a CUDA device. Copy it to the host first, with `.cpu()`.")
    try:
        if not isinstance(source, _Capsule):
            source = _Capsule(_capsule_of(source))
        array = np.from_dlpack(source)
    except (BufferError, RuntimeError) as error:
        raise BufferError(f"from_dlpack: {error}") from error
    if source.is_bfloat16:
        array = array.view(bfloat16.numpy)
    return borrow("from_dlpack", as_plain_array("from_dlpack", array))


def _capsule_of(source: Any) -> Any:
    """Return the capsule of ``source``, with a version if both ``source`` and numpy support versions."""
    if _HAS_VERSIONS:
        with suppress(TypeError):
            return source.__dlpack__(max_version=(1, 0))
    return source.__dlpack__()


# ---------- CUDA ----------


def cuda_array_interface(x: Tensor) -> dict[str, Any]:
    """Return a description of the memory of ``x`` on a CUDA device, for CuPy, Numba and torch.

    Raises:
        AttributeError: if the tensor is not on a CUDA device.
        RuntimeError: if the tensor requires a gradient.
    """
    found = getattr(x._array, "__cuda_array_interface__", None)
    if found is None:
        raise AttributeError(f"only a tensor on a CUDA device has __cuda_array_interface__; this one is on {x.place}")
    if not x.stop_gradient:
        raise RuntimeError("__cuda_array_interface__: this tensor requires a gradient; use `x.detach()`")
    entry_of(x._storage).for_good = True  # a library does not report when it no longer uses the address
    return dict(found)


Tensor.__dlpack__ = dlpack
Tensor.__dlpack_device__ = dlpack_device
Tensor.__cuda_array_interface__ = property(cuda_array_interface)
