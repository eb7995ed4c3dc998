"""Torch's storages: a handle for each, how it is noticed that one has gone, and its bytes where they lie.

* A handle is no tensor and keeps no memory alive. Torch's own object for a storage is referred to weakly: the reference
  ends when the last holder in C++ lets go.
* Bytes are read at their address. ``t.numpy()`` would make a storage that can never be resized again.
* A gradient on its way must not get an object for its storage: torch then adds to it in other memory than it would.
  What is met during a backward is known by its address until that is over (:attr:`Memory.tensors`).
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from torch.nn.parameter import is_lazy

from memory_stage.engines.protocol import CellLayout, StorageInfo
from memory_stage.engines.torch.cuda import Gpu, gpu_at, is_capturing


class unheard:  # noqa: N801  # a block to be inside of
    """Inside, nobody hears of what is asked of a tensor: no mode, no subclass, and no trace that the program makes."""

    __slots__ = ("_asked", "_tracing")

    def __enter__(self) -> None:
        self._asked: Any = torch._C.DisableTorchFunction()
        self._asked.__enter__()
        self._tracing = torch._C._get_tracing_state()
        if self._tracing is not None:  # sizes would become nodes of it
            torch._C._set_tracing_state(None)

    def __exit__(self, *error: object) -> None:
        if self._tracing is not None:
            torch._C._set_tracing_state(self._tracing)
        self._asked.__exit__(*error)


address_of: Callable[[torch.Tensor], int] = torch._C._storage_address

#: By the size of an element, in bytes. Numpy has no integers of 16.
_BITS: dict[int, Any] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64, 16: np.complex128}


#: By the address of a storage, where tensors whose elements have another size look at it, too: bytes of a cell.
cell_sizes: dict[int, int] = {}


class Memory:
    """A storage of torch, and the counter of versions that its first tensor has.

    Attributes:
        address: of torch's storage in C++: which storage it is while that lives.
        itemsize, dtype: of the tensor that it was met with.
        counted: bytes that the meter counts; none of memory that another owner has lent.
        version: when it was last asked for.
        ref: a weak reference to torch's own object.
        tensors: weak references to those met on it, while ``ref`` is still to come.
        savers: what nodes saved of it (:class:`~memory_stage.engines.torch.nodes.Entry`), by weak reference.
        exported: whether another library was given its address.
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
        if self.address in cell_sizes:  # it has another size since
            cell_sizes[self.address] = self.itemsize

    def show(self, x: torch.Tensor) -> None:
        """Note that a tensor looks at it: its elements may have another size than the cells."""
        if self.itemsize != x.element_size():
            cell_sizes[self.address] = self.itemsize

    def show_no_more(self) -> None:
        """It is gone, or the recording is over."""
        cell_sizes.pop(self.address, None)

    @property
    def memory(self) -> Memory:
        """Itself; of a :class:`Counter`, what it counts over."""
        return self

    def place(self) -> tuple[int, int]:
        """Where its bytes begin now, and how many there are; ``(0, 0)`` when it is gone."""
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
        """Whether the outside can write it: torch makes what numpy knows of, or has lent, not resizable."""
        storage = self.ref()
        return self.exported or (storage is not None and not storage.resizable())

    def flat(self) -> np.ndarray | None:
        """Its cells as unsigned integers, where they lie; None where there are none, or they lie on a GPU."""
        begin, nbytes = self.place()
        if not begin or nbytes < self.itemsize or self.gpu is not None:
            return None
        return at_address(begin, nbytes // self.itemsize, self.itemsize)

    def block(self, version: int) -> StorageInfo:
        """What there is to be told of it."""
        _, nbytes = self.place()
        return StorageInfo(
            nbytes // self.itemsize, self.itemsize, nbytes, self.counted, name_of(self.dtype), version, self.gpu
        )

    def numbers(self, cells: Iterable[int]) -> list[Any]:
        """The values of some cells."""
        begin, nbytes = self.place()
        wanted = np.fromiter(cells, np.int64)
        if not begin:
            return ["?"] * len(wanted)
        if self.gpu is not None:
            return self._numbers_there(wanted)
        flat = at_address(begin, nbytes // self.itemsize, self.itemsize)
        return as_numbers(flat[wanted], self.dtype).tolist()

    def _numbers_there(self, wanted: np.ndarray) -> list[Any]:
        """One by one: nothing is allocated on the GPU for it."""
        storage = self.ref()
        if storage is None or is_capturing():
            return ["?"] * len(wanted)
        flat = torch.empty(0, dtype=self.dtype, device=storage.device)
        flat.set_(storage, 0, (storage.nbytes() // self.itemsize,), (1,))
        return [flat[int(i)].item() for i in wanted]


class Counter:
    """Versions of its own over a storage: those of ``x.data``, of a tensor after ``set_``, of one by DLPack.

    ``end``: what tells of the end of a further storage of torch's, where there is one.
    """

    __slots__ = ("_memory", "version", "end", "__weakref__")

    def __init__(self, memory: Memory, version: int) -> None:
        self._memory, self.version = memory, version
        self.end: Any = None

    @property
    def memory(self) -> Memory:
        """What it counts over."""
        return self._memory


Kept = Memory | Counter
"""What has a version: a storage, or a further counter over one."""


def _nothing() -> None:
    """In place of a weak reference."""


def at_address(begin: int, length: int, itemsize: int) -> np.ndarray:
    """Cells where they lie, which the array neither owns nor keeps alive, as unsigned integers."""
    lent: Any = (ctypes.c_char * (length * itemsize)).from_address(begin)
    return np.frombuffer(lent, _BITS[itemsize])


def name_of(dtype: torch.dtype) -> str:
    """``float32``."""
    return str(dtype).removeprefix("torch.")


def as_numbers(bits: np.ndarray, dtype: torch.dtype) -> np.ndarray:
    """Bits as what they stand for; of bfloat16, which numpy does not have, as float32."""
    if dtype is torch.bfloat16:
        return (bits.astype(np.uint32) << 16).view(np.float32)
    return bits.view(np.dtype(name_of(dtype)))


#: Dtypes whose numbers can be read: numpy's, and bfloat16.
_DRAWN = frozenset((
    "bfloat16", "bool", "complex128", "complex64", "float16", "float32", "float64", "int16", "int32", "int64", "int8",
    "uint16", "uint32", "uint64", "uint8",
))  # fmt: skip

#: By the address of a storage that torch has made over the memory of another: at which cell of that it begins.
shifts: dict[int, int] = {}


def layout_of(x: torch.Tensor) -> CellLayout:
    """The cells of the storage that it shows; of elements that are parts of cells, the cells that they are parts of."""
    own = own_layout_of(x)
    size = cell_sizes.get(address_of(x), 0) if cell_sizes else 0
    return own if not size else in_cells(own, x.element_size(), size)


def own_layout_of(x: torch.Tensor) -> CellLayout:
    """Its shape, strides and offset in the storage that the stage shows, in elements."""
    shift = shifts.get(address_of(x), 0) if shifts else 0
    return CellLayout(list(x.shape), list(x.stride()), x.storage_offset() + shift)


def in_cells(own: CellLayout, size: int, cell: int) -> CellLayout:
    """A layout that counts elements of ``size`` bytes, in cells of ``cell`` bytes."""
    shape, strides, offset = own
    if size == cell or 0 in shape:
        return own
    if size > cell:
        times = size // cell
        return CellLayout([*shape, times], [*(stride * times for stride in strides), 1], offset * times)
    parts = cell // size
    steps = list(zip(shape, strides, strict=True))
    whole = [(n, stride // parts) for n, stride in steps if stride % parts == 0]
    within = offset % parts + sum((n - 1) * stride for n, stride in steps if stride % parts)
    count = within // parts + 1
    whole += [(count, 1)] if count > 1 or not whole else []
    return CellLayout([n for n, _ in whole], [stride for _, stride in whole], offset // parts)


def numbers_in_cells(numbers: np.ndarray, size: int, cell: int) -> np.ndarray:
    """Numbers of elements of ``size`` bytes, as the numbers of cells of ``cell`` bytes, rising, each once."""
    if size > cell:
        times = size // cell
        numbers = (numbers.reshape(-1, 1) * times + np.arange(times)).reshape(-1)
    return np.unique(numbers * size // cell if size < cell else numbers)


def elements_of(x: torch.Tensor) -> np.ndarray:
    """The elements of a tensor, to be read at once: nothing keeps them where they are. Those of a GPU are copied."""
    if x.device.type != "cpu":
        x = x.detach().cpu()
    shape, size = tuple(x.shape), x.element_size()
    if not x.numel() or not x.data_ptr():
        return np.empty(shape, np.dtype("float32" if x.dtype is torch.bfloat16 else name_of(x.dtype)))
    reach = 1 + sum((n - 1) * stride for n, stride in zip(shape, x.stride(), strict=True))
    flat = as_numbers(at_address(x.data_ptr(), reach, size), x.dtype)
    strides = [stride * flat.itemsize for stride in x.stride()]
    elements = np.lib.stride_tricks.as_strided(flat, shape, strides, writeable=False)
    if x.is_neg():  # lazily, as the imaginary part of a conjugate is
        return -elements
    return elements.conj() if x.is_conj() else elements


def is_drawable(x: Any) -> bool:
    """Whether a tensor has memory of the kind that the stage shows."""
    return why_not(x) == ""


is_in_transform: Callable[[torch.Tensor], bool] = torch._C._functorch.is_functorch_wrapped_tensor
"""Whether a tensor is one of those inside ``vmap``, ``grad`` and the other transforms of ``torch.func``."""


def why_not(x: Any) -> str:
    """Why the stage shows nothing of a tensor, in words; empty where it does."""
    if is_lazy(x):
        return "a parameter that has no shape yet"
    if x.layout is not torch.strided:
        return "a sparse tensor"
    if x.is_nested:
        return "a nested tensor"
    if is_in_transform(x):
        return "a tensor inside a transform of torch.func"
    if x.device.type not in ("cpu", "cuda"):
        return f"a tensor on the device {x.device.type}"
    if x.is_inference():
        return "a tensor of inference mode, which has no version"
    kind = name_of(x.dtype)
    if x.is_quantized or kind not in _DRAWN:
        return f"a tensor of dtype {kind}"
    if type(x).__name__ in ("FakeTensor", "FunctionalTensor"):
        return "a tensor without memory"
    return ""
