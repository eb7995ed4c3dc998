"""Handles of torch's storages. A handle reads the bytes of a storage and reports when the storage is freed.

* A handle keeps no memory alive. It has only a weak reference to torch's Python object for the storage, which torch
  frees together with the storage in C++.
* Bytes are read at their address, because ``t.numpy()`` would prevent the storage from being resized.
* While backward still accumulates a gradient, the gradient's storage must not get a Python object, because torch would
  then write the sum to new memory instead of adding in place. If a storage is registered during a backward, a handle
  has only weak references to its tensors (:attr:`Memory.tensors`) until the backward ends.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from torch.nn.parameter import is_lazy

from memory_stage.engines.protocol import CellLayout, StorageInfo, in_cells
from memory_stage.engines.torch.cuda import Gpu, gpu_at, is_capturing
from memory_stage.messages import Text, message


class muted:  # noqa: N801  # a context manager named like a function
    """A context that hides the stage's reads of tensors from the program's function modes, subclasses and traces."""

    __slots__ = ("_disabled", "_tracing")

    def __enter__(self) -> None:
        self._disabled: Any = torch._C.DisableTorchFunction()
        self._disabled.__enter__()
        self._tracing = torch._C._get_tracing_state()
        if self._tracing is not None:  # otherwise reading a size would add a node to the trace
            torch._C._set_tracing_state(None)

    def __exit__(self, *error: object) -> None:
        if self._tracing is not None:
            torch._C._set_tracing_state(self._tracing)
        self._disabled.__exit__(*error)


address_of: Callable[[torch.Tensor], int] = torch._C._storage_address

#: Maps the bytes of an element to the integer dtype for its bits. Numpy has no integers of 16 bytes.
_BITS: dict[int, Any] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64, 16: np.complex128}


#: Maps the address of a storage to the bytes of its cells, if a tensor on it has elements of another size.
cell_sizes: dict[int, int] = {}


class Memory:
    """A storage of torch, which is also the version counter of its first tensor.

    Attributes:
        address: the address of torch's storage in C++. It identifies the storage while the storage lives.
        itemsize, dtype: the bytes and the dtype of a cell, which are those of the first tensor on the storage.
        counted: the bytes that the meter counts; 0 for borrowed memory.
        version: the version that was read last.
        ref: a weak reference to torch's Python object for the storage.
        tensors: weak references to the tensors on the storage, until ``ref`` is set.
        savers: weak references to the saved tensors on the storage (:class:`~memory_stage.engines.torch.saved.Entry`).
        exported: True if another library has the address of the storage.
    """

    __slots__ = (
        "address", "itemsize", "dtype", "counted", "version", "gpu", "ref", "tensors", "savers", "exported", "freed",
        "__weakref__",
    )  # fmt: skip

    def __init__(self, x: torch.Tensor) -> None:
        self.address = address_of(x)
        self.itemsize, self.dtype = x.element_size(), x.dtype
        self.version: int = x._version
        self.gpu: Gpu | None = gpu_at(x.device)
        self.counted = 0
        self.ref: Callable[[], Any] = _nothing
        self.tensors: list[weakref.ref[Any]] | None = None
        self.savers: list[weakref.ref[Any]] = []
        self.exported = self.freed = False
        if self.address in cell_sizes:  # an earlier storage at this address may have left an entry
            cell_sizes[self.address] = self.itemsize

    def note_cell_size(self, x: torch.Tensor) -> None:
        """Record the size of the cells of this storage, if the elements of ``x`` have another size."""
        if self.itemsize != x.element_size():
            cell_sizes[self.address] = self.itemsize

    def forget_cell_size(self) -> None:
        """Remove the recorded size of the cells, after the storage is freed or the recording ends."""
        cell_sizes.pop(self.address, None)

    @property
    def memory(self) -> Memory:
        """This storage itself. The same attribute of a :class:`Counter` is the storage below the counter."""
        return self

    def place(self) -> tuple[int, int]:
        """Return the present address and number of bytes; ``(0, 0)`` if the storage was freed."""
        if self.freed:
            return 0, 0
        storage = self.ref()
        if storage is not None:
            return storage.data_ptr(), storage.nbytes()
        for ref in self.tensors or ():
            x = ref()
            if x is not None and address_of(x) == self.address:
                end = 1 + sum((n - 1) * stride for n, stride in zip(x.shape, x.stride(), strict=True))
                size = x.element_size()
                return x.data_ptr() - x.storage_offset() * size, (x.storage_offset() + end) * size if x.numel() else 0
        return 0, 0

    @property
    def is_shared(self) -> bool:
        """True if another library can write the storage. Torch makes a storage not resizable when numpy shares it."""
        storage = self.ref()
        return self.exported or (storage is not None and not storage.resizable())

    def flat(self) -> np.ndarray | None:
        """Return the cells as unsigned integers, without copying; None if the storage is empty or on a GPU."""
        begin, nbytes = self.place()
        if not begin or nbytes < self.itemsize or self.gpu is not None:
            return None
        return at_address(begin, nbytes // self.itemsize, self.itemsize)

    def block(self, version: int) -> StorageInfo:
        """Describe the memory of the storage."""
        _, nbytes = self.place()
        return StorageInfo(
            nbytes // self.itemsize, self.itemsize, nbytes, self.counted, name_of(self.dtype), version, self.gpu
        )

    def numbers(self, cells: Iterable[int]) -> list[Any]:
        """Return the values of the given cells."""
        begin, nbytes = self.place()
        indices = np.fromiter(cells, np.int64)
        if not begin:
            return ["?"] * len(indices)
        if self.gpu is not None:
            return self._numbers_on_gpu(indices)
        flat = at_address(begin, nbytes // self.itemsize, self.itemsize)
        return as_numbers(flat[indices], self.dtype).tolist()

    def _numbers_on_gpu(self, indices: np.ndarray) -> list[Any]:
        """Read the cells one by one, so that nothing is allocated on the GPU."""
        storage = self.ref()
        if storage is None or is_capturing():
            return ["?"] * len(indices)
        flat = torch.empty(0, dtype=self.dtype, device=storage.device)
        flat.set_(storage, 0, (storage.nbytes() // self.itemsize,), (1,))
        return [flat[int(i)].item() for i in indices]


class Counter:
    """A separate version counter on a storage, for ``x.data``, for a tensor after ``set_``, or for one from DLPack.

    If torch imported the memory from another library, torch has a second object for the storage. ``end`` is a weak
    reference to that object. Its callback runs when the object is freed.
    """

    __slots__ = ("_memory", "version", "end", "__weakref__")

    def __init__(self, memory: Memory, version: int) -> None:
        self._memory, self.version = memory, version
        self.end: Any = None

    @property
    def memory(self) -> Memory:
        """The storage that this object counts versions for."""
        return self._memory


VersionCounter = Memory | Counter
"""A version counter: a storage, or a separate counter on one."""


def _nothing() -> None:
    """Return None, as a weak reference to a freed object does. It replaces ``ref`` until torch's object is known."""


def at_address(begin: int, length: int, itemsize: int) -> np.ndarray:
    """Return an array of unsigned integers over the cells at an address. It neither owns them nor keeps them alive."""
    memory: Any = (ctypes.c_char * (length * itemsize)).from_address(begin)
    return np.frombuffer(memory, _BITS[itemsize])


def name_of(dtype: torch.dtype) -> str:
    """Return the name of a dtype, such as ``float32``."""
    return str(dtype).removeprefix("torch.")


def as_numbers(bits: np.ndarray, dtype: torch.dtype) -> np.ndarray:
    """Interpret ``bits`` as numbers of ``dtype``; bfloat16, which numpy does not have, becomes float32."""
    if dtype is torch.bfloat16:
        return (bits.astype(np.uint32) << 16).view(np.float32)
    return bits.view(np.dtype(name_of(dtype)))


#: Dtypes whose numbers can be read: those that numpy has, and bfloat16.
_DRAWN = frozenset((
    "bfloat16", "bool", "complex128", "complex64", "float16", "float32", "float64", "int16", "int32", "int64", "int8",
    "uint16", "uint32", "uint64", "uint8",
))  # fmt: skip

#: Torch may have two objects for overlapping memory. Maps the address of the second object to the position of its first
#: cell in the first object.
shifts: dict[int, int] = {}


def layout_of(x: torch.Tensor) -> CellLayout:
    """Return the cells of a tensor. If its elements are smaller than cells, return the cells that contain them."""
    own = own_layout_of(x)
    size = cell_sizes.get(address_of(x), 0) if cell_sizes else 0
    return own if not size else in_cells(own, x.element_size(), size)


def own_layout_of(x: torch.Tensor) -> CellLayout:
    """Return the shape, strides and offset of a tensor in its registered storage, counted in elements."""
    shift = shifts.get(address_of(x), 0) if shifts else 0
    return CellLayout(list(x.shape), list(x.stride()), x.storage_offset() + shift)


def elements_of(x: torch.Tensor) -> np.ndarray:
    """Return an array over the elements of a tensor; on a GPU, an array of their copies.

    The caller has to read the array at once, because it keeps no memory alive.
    """
    if x.device.type != "cpu":
        x = x.detach().cpu()
    shape, size = tuple(x.shape), x.element_size()
    if not x.numel() or not x.data_ptr():
        return np.empty(shape, np.dtype("float32" if x.dtype is torch.bfloat16 else name_of(x.dtype)))
    reach = 1 + sum((n - 1) * stride for n, stride in zip(shape, x.stride(), strict=True))
    flat = as_numbers(at_address(x.data_ptr(), reach, size), x.dtype)
    strides = [stride * flat.itemsize for stride in x.stride()]
    elements = np.lib.stride_tricks.as_strided(flat, shape, strides, writeable=False)
    if x.is_neg():  # torch negates such a tensor only when it is read, for example the imaginary part of a conjugate
        return -elements
    return elements.conj() if x.is_conj() else elements


def is_drawable(x: Any) -> bool:
    """True if the stage can show the memory of a tensor."""
    return why_not(x) == ""


is_in_transform: Callable[[torch.Tensor], bool] = torch._C._functorch.is_functorch_wrapped_tensor
"""True for a tensor inside ``vmap``, ``grad`` or another transform of ``torch.func``."""


def why_not(x: Any) -> Text:
    """Return a phrase for a tensor that the stage cannot show; an empty string if it can."""
    if is_lazy(x):
        return message("a parameter that has no shape yet")
    if x.layout is not torch.strided:
        return message("a sparse tensor")
    if x.is_nested:
        return message("a nested tensor")
    if is_in_transform(x):
        return message("a tensor inside a transform of torch.func")
    if x.device.type not in ("cpu", "cuda"):
        return message("a tensor on the device {device}", device=x.device.type)
    if x.is_inference():
        return message("a tensor of inference mode, which has no version")
    kind = name_of(x.dtype)
    if x.is_quantized or kind not in _DRAWN:
        return message("a tensor of dtype {dtype}", dtype=kind)
    if type(x).__name__ in ("FakeTensor", "FunctionalTensor"):
        return message("a tensor without memory")
    return ""
