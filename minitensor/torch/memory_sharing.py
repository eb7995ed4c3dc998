"""Share memory between tensors and with other libraries: ``x.data``, ``numpy()``, DLPack, ``set_`` and ``resize_``.

``x.data`` has a separate version, as in PyTorch. Autograd therefore does not notice a write through ``x.data``, and
such a write may overwrite a saved tensor without an error. ``x.detach()`` shares the version of ``x``, so autograd
notices a write through it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.core.history import Leaf, Node, new_leaf
from minitensor.engine.core.storage import Storage
from minitensor.engine.core.tensor import Hook
from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.engine.device.arrays import gpu_of, host_array
from minitensor.engine.dtypes import FLOATS
from minitensor.engine.events import ViewCreated, watch
from minitensor.engine.sharing import dlpack
from minitensor.engine.sharing.numpy_memory import lend_memory
from minitensor.engine.views import set_resize_cast as engine
from minitensor.torch.arguments import need_int, need_ints, need_tensor
from minitensor.torch.creation import size_of
from minitensor.torch.dtypes import SCALAR_NAMES
from minitensor.torch.tensor import Tensor, as_torch
from minitensor.torch.views import count_as_write

# ---------- x.data ----------


class UnversionedStorage(Storage):
    """A second storage on the memory of the storage ``of``, with a separate version.

    The bytes are counted for ``of``, and this storage keeps ``of`` alive. The attribute ``numpy_array`` is an array on
    the same memory; on a GPU it is None. The array is registered at ``of``, so that ``check_foreign_writes`` finds
    writes through this storage.
    """

    __slots__ = ("of", "numpy_array")
    of: Storage
    numpy_array: Any

    def __del__(self) -> None:  # type: ignore[override]  # the class of `of` defines another signature
        pass  # the bytes are counted for `of`


def root(storage: Storage) -> Storage:
    """Return ``storage`` itself, or if it is an :class:`UnversionedStorage`, the storage whose memory it uses."""
    while isinstance(storage, UnversionedStorage):
        storage = storage.of
    return storage


def _unversioned(storage: Storage, version: int) -> UnversionedStorage:
    other = UnversionedStorage.__new__(UnversionedStorage)
    other.buffer, other.nbytes, other.version, other.savers = storage.buffer, 0, version, None
    other.of = root(storage)
    other.numpy_array = None
    if gpu_of(storage.buffer) is None:
        other.numpy_array = lend_memory(BaseTensor._alias(storage.buffer, other.of))
    return other


def data_of(x: Tensor) -> Tensor:
    """Return an alias of ``x`` without history. The alias has a separate version, which starts at 0."""
    alias = as_torch(BaseTensor._alias(x._array, _unversioned(x._storage, 0)))
    if watch.listener is not None:
        watch.listener(ViewCreated(alias, "data", (x,)))
    return alias


def set_data(x: Tensor, other: Any) -> None:
    """Let ``x`` use the memory of ``other``. ``x`` keeps its version and its history.

    Raises:
        TypeError: if ``other`` is not a tensor.
        RuntimeError: if ``x`` requires grad and a gradient of ``x`` cannot have the dtype or the shape of ``other``.
    """
    if not isinstance(other, BaseTensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(other).__name__}")
    node = x._current()
    if node is not None:
        if other._array.dtype not in FLOATS:
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        fits = other._array.dtype == x._array.dtype and other._array.shape == x._array.shape
        if not fits and (type(node) is not Leaf or node.saved is not None):
            raise RuntimeError(
                f"this tensor requires grad, and its gradient has shape {list(x._array.shape)} and dtype "
                f"{x.dtype.name}; its data cannot become a tensor of shape {list(other._array.shape)} and dtype "
                f"{other._array.dtype.name}"
            )
        if not fits:
            node = _another_leaf(node, x, other._array.shape)
    if root(other._storage) is root(x._storage) and other._array.shape == x._array.shape:
        same = np.may_share_memory(x._array, other._array) and other._array.strides == x._array.strides
        if same and other.data_ptr() == x.data_ptr():
            return  # `x.data += 1` first writes into the shared memory, and then assigns the alias to `x.data`
    storage = _unversioned(other._storage, x._storage.version)
    x._array, x._storage, x._history = other._array, storage, None
    x._node = node


def _another_leaf(old: Node, x: Tensor, shape: tuple[int, ...]) -> Leaf:
    """Return a new leaf for ``x`` with gradients of the shape ``shape``. The old leaf then refuses gradients."""
    leaf = new_leaf(shape)
    leaf.hooks = old.hooks
    was = f"shape {list(x._array.shape)} and dtype {x.dtype.name}"

    def refuse(_: Any) -> None:
        raise RuntimeError(
            f"backward reached a leaf that was of {was} when the result was computed. Since then, its `data` "
            f"has been set to a tensor of another shape or dtype, as Module.to does. Compute the result anew."
        )

    old.hooks = [Hook(refuse)]
    return leaf


# ---------- memory shared with NumPy and DLPack ----------


def numpy(input: Tensor, *, force: bool = False) -> np.ndarray:
    """Return an array on the memory of the tensor: a write to either changes both. The array has the shape and dtype of
    the tensor.

    Args:
        force: True to accept a tensor that requires grad, and to copy a tensor on a GPU to the host.

    Raises:
        RuntimeError: if the tensor requires grad; use ``detach()`` first.
        TypeError: if the tensor is on a GPU.
    """
    if not force:
        if input._current() is not None:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.\n"
                "The array shares the memory: writes through it are neither recorded nor counted."
            )
        if gpu_of(input._array) is not None:
            raise TypeError(
                "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory "
                "first."
            )
    if gpu_of(input._array) is not None:
        return host_array(input._array)
    return lend_memory(_on_root(input))


def _on_root(x: Tensor) -> Tensor:
    """Return ``x`` itself, or if it is on an :class:`UnversionedStorage`, an alias on its :func:`root`."""
    if not isinstance(x._storage, UnversionedStorage):
        return x
    return as_torch(BaseTensor._alias(x._array, root(x._storage)))


def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    dtype = None if dtype is None else checks.numpy_dtype("__array__()", dtype)
    copy = None if copy is None else checks.flag("__array__()", "copy", copy)
    array = numpy(self)
    if dtype is not None and dtype != array.dtype:
        if copy is False:
            raise ValueError(f"only a copy of a {SCALAR_NAMES[array.dtype]} tensor can be an array of {dtype}")
        return array.astype(dtype)
    return array.copy() if copy else array


def __dlpack__(self: Tensor, **named: Any) -> Any:
    return dlpack.dlpack(_on_root(self), **named)


# ---------- another storage, another size ----------


def resize_(input: Tensor, *sizes: Any) -> Tensor:
    """Change the shape of the tensor, with more or fewer elements. The first elements keep their values.

    New elements are 0; PyTorch leaves them uninitialized.

    Args:
        sizes: the new shape, as numbers or as one list.

    Returns:
        The tensor itself.

    Raises:
        RuntimeError: if the tensor requires grad.
    """
    if input._current() is not None:
        raise RuntimeError(
            "cannot resize variables that require grad\n"
            "The elements that it loses or gains would have no gradient. Use reshape, an index or torch.cat."
        )
    shape, version = list(size_of("resize_", sizes)), input._storage.version
    if shape == list(input._array.shape):
        return input
    engine.resize_(input, shape)
    if input._storage.version == version:
        count_as_write(input, "resize_")
    return input


def resize_as_(input: Tensor, the_template: Tensor) -> Tensor:
    """Change the shape of the tensor to that of ``the_template``, as :func:`resize_` does, and return the tensor.

    Raises:
        TypeError: if ``the_template`` is not a tensor.
        RuntimeError: if the tensor requires grad.
    """
    need_tensor("resize_as_", the_template, name="the_template")
    return resize_(input, *the_template._array.shape)


def set_(
    input: Tensor, source: Tensor | None = None, storage_offset: int = 0, size: Any = None, stride: Any = None
) -> Tensor:
    """Let the tensor use the storage of ``source``, and return the tensor. Nothing is written. Existing views of the
    tensor keep the old storage.

    Args:
        source: a tensor of any shape. By default, the tensor becomes empty.
        storage_offset, size, stride: the new layout, counted in elements. By default ``size`` and ``stride`` are those
            of ``source``.

    Raises:
        RuntimeError: if the tensor is a leaf that requires grad, or if the elements would be outside the storage.
        TypeError: if ``source`` is not a tensor, or a number is not an integer.
    """
    if source is not None and not isinstance(source, BaseTensor):
        raise TypeError(f"set_(): argument 'source' (position 1) must be Tensor, not {type(source).__name__}")
    if type(input._current()) is Leaf:
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation.\n"
            "Its gradient belongs to the numbers that it has. Nothing was changed."
        )
    version = input._storage.version
    lengths = None if size is None else need_ints("set_", "size", size, 3)
    steps = None if stride is None else need_ints("set_", "stride", stride, 4)
    try:
        engine.set_(input, source, lengths, steps, need_int("set_", "storage_offset", storage_offset, 2))
    except ValueError as error:
        raise RuntimeError(str(error)) from None
    if source is None:
        input._storage.version = version + 1  # the new, empty storage continues the count of the old one
    return input
