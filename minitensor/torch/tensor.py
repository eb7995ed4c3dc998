"""The tensor of PyTorch's vocabulary: the engine's tensor with PyTorch's names.

The class adds no state to the engine's tensor, so :func:`as_torch` only changes the class of an object and copies
nothing. :mod:`minitensor.torch.assembly` adds operations, views, indexing and operators.
"""

from __future__ import annotations

import copy
import gc
from collections.abc import Callable
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.core.history import Leaf
from minitensor.engine.core.layout_rules import gradient_orders
from minitensor.engine.core.regions import memory_of, steps_of
from minitensor.engine.core.storage import Storage, new_storage
from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.engine.device.arrays import gpu_of, host_array, strided
from minitensor.engine.dtypes import FLOATS
from minitensor.torch import printing, result_strides
from minitensor.torch.arguments import as_dim, as_existing_dim
from minitensor.torch.dtypes import BY_NUMPY, Size, device, device_of, dtype
from minitensor.torch.errors import missing, warn
from minitensor.torch.grad_fn import GradFunction, call_hook, function_of
from minitensor.torch.handles import RemovableHandle, call_after_accumulation


class Tensor(BaseTensor):
    """An n-dimensional array with a storage and a history. ``torch.tensor``, ``torch.zeros`` and others create it."""

    __slots__ = ()

    _spelled_otherwise = True
    _layout_of = staticmethod(result_strides.rule_of)

    def __new__(cls, *given: Any) -> Any:
        """Return a float32 tensor: ``torch.Tensor(data)`` copies ``data``, ``torch.Tensor(2, 3)`` has shape [2, 3]."""
        if not given:
            return object.__new__(cls)
        return cls._create_from(*given)

    #: The function that ``torch.Tensor(...)`` calls. ``assembly`` sets it, because ``creation`` imports this module.
    _create_from: Callable[..., Tensor]

    def __init__(self, *given: Any) -> None:
        if not given:
            empty = type(self)._made(np.empty(0, np.float32))
            self._array, self._storage, self._node, self._history = empty._array, empty._storage, None, None

    # ---------- shape and storage ----------

    @property
    def shape(self) -> Size:  # type: ignore[override]  # PyTorch's
        """The lengths of the dimensions."""
        return Size(self._array.shape)

    def size(self, dim: int | None = None) -> Any:  # type: ignore[override]  # PyTorch's
        """Return the shape, or the length of the dimension ``dim``.

        Raises:
            IndexError: if the tensor has no such dimension.
        """
        if dim is None:
            return Size(self._array.shape)
        return self._array.shape[as_existing_dim("size", dim, self._array.ndim)]

    def dim(self) -> int:
        """Return the number of dimensions."""
        return self._array.ndim

    ndimension = dim

    def numel(self) -> int:
        """Return the number of elements."""
        return self._array.size

    nelement = numel

    def stride(self, dim: int | None = None) -> Any:
        """Return the stride of each dimension, or of ``dim``: the distance of neighbours in the storage, in elements.

        Raises:
            IndexError: if the tensor has no such dimension.
        """
        steps = steps_of(self._array)
        if dim is None:
            return steps
        position = as_dim(dim, len(steps))
        if not steps:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        return steps[position]

    def storage_offset(self) -> int:
        """Return the offset of the tensor's first element in the storage, counted in elements."""
        return self.offset

    @property
    def dtype(self) -> dtype:
        """The element type."""
        return BY_NUMPY[self._array.dtype]

    @property
    def device(self) -> device:
        """The device of the storage."""
        return device_of(self)

    @property
    def is_cuda(self) -> bool:
        """True if the storage is on a GPU, which may be the simulated one."""
        return gpu_of(self._array) is not None

    @property
    def itemsize(self) -> int:
        """The number of bytes of one element."""
        return self._array.itemsize

    def is_floating_point(self) -> bool:
        """True if the elements are floats."""
        return self._array.dtype in FLOATS

    def untyped_storage(self) -> StorageReference:
        """Return a reference to the storage, whose size is counted in bytes, not in elements."""
        return StorageReference(self._storage, self)

    @property
    def _version(self) -> int:
        """The number of writes so far. A tensor, its views and its detached aliases share one number."""
        return self._storage.version

    # ---------- gradient and history ----------

    @property
    def requires_grad(self) -> bool:
        """True if ``backward()`` computes a gradient for this tensor. Setting it to True makes the tensor a leaf.

        Raises:
            RuntimeError: if it is set to True although the tensor does not hold floats, to False although the tensor is
                not a leaf, or to a value that is not a bool.
        """
        return self._current() is not None

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        if not isinstance(wanted, (bool, np.bool_)):
            raise RuntimeError("requires_grad must be a bool")
        if type(self._current()) is not Leaf and self._current() is not None and not wanted:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in "
                "a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
            )
        if wanted and self._array.dtype not in FLOATS:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if wanted and self._is_view() and not self.requires_grad:
            self._history = None  # only the view becomes a leaf, not its base
        if wanted is not self.requires_grad:
            BaseTensor.stop_gradient.fset(self, not wanted)  # type: ignore[attr-defined]  # the function of a property
            order = result_strides.order_of_gradient(self._array) if wanted else None
            if order is not None:
                gradient_orders[self._node] = order

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set ``requires_grad`` and return the tensor.

        Raises:
            TypeError: if the argument is not a bool.
            RuntimeError: if it is True and the tensor does not hold floats, or False and the tensor is not a leaf.
        """
        if not isinstance(requires_grad, (bool, np.bool_)):
            given = type(requires_grad).__name__
            raise TypeError(f"requires_grad_(): argument 'requires_grad' (position 1) must be bool, not {given}")
        self.requires_grad = requires_grad
        return self

    @property
    def grad_fn(self) -> GradFunction | None:  # type: ignore[override]  # PyTorch's
        """The function that computed this tensor; None for a leaf."""
        node = self._current()
        if node is None or type(node) is Leaf:
            return None
        # After a write into the base, PyTorch gives a view a new ``grad_fn``, which reads the view from the base.
        return function_of(node, "AsStridedBackward0" if self._is_view() and node.op.name.endswith("_") else None)

    @property  # type: ignore[override]  # a gradient of this vocabulary
    def grad(self) -> Tensor | None:
        """The gradient that ``backward()`` has accumulated, in the shape and dtype of this tensor; None if absent.

        Raises:
            RuntimeError: if a tensor of another shape or dtype is set, or if this is not a leaf that requires grad.
            TypeError: if a value that is not a tensor is set.
        """
        gradient = BaseTensor.grad.fget(self)  # type: ignore[attr-defined]  # the function of a property
        if gradient is None and not self.retains_grad and type(self._current()) not in (Leaf, type(None)):
            warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute "
                "won't be populated during autograd.backward(). If you indeed want the .grad field to be populated "
                "for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor "
                "by mistake, make sure you access the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 "
                "for more information."
            )
        return gradient if gradient is None or isinstance(gradient, Tensor) else as_torch(gradient)

    @grad.setter
    def grad(self, gradient: Any) -> None:
        if gradient is None:
            extra = getattr(self, "_extra", None)
            if self._leaf() is not None:
                self._put_gradient(None, copies=False)
            elif extra is not None and extra.box is not None:
                extra.box.gradient = None
            return
        if gradient is self:
            raise RuntimeError("can't assign Variable as its own grad")
        if not isinstance(gradient, BaseTensor):
            raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(gradient)}")
        if gradient._array.shape != self._array.shape:
            raise RuntimeError(
                f"attempting to assign a gradient of size '{list(gradient._array.shape)}' to a tensor of size "
                f"'{list(self._array.shape)}'. Please ensure that the gradient and the tensor are the same size"
            )
        if gradient._array.dtype != self._array.dtype:
            raise RuntimeError(
                f"attempting to assign a gradient with dtype '{gradient.dtype}' to a tensor with dtype '{self.dtype}'. "
                f"The gradient must match the tensor's dtype: `x.grad = g.to({self.dtype})`."
            )
        if self._leaf() is None:
            raise RuntimeError(
                "grad can be set only on a leaf that requires grad, because no other tensor has a place for it. Call "
                "requires_grad_() first."
            )
        self._put_gradient(gradient, copies=False)

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    def retain_grad(self) -> None:
        """Let ``backward()`` store the gradient of this non-leaf in ``grad``.

        Raises:
            RuntimeError: if the tensor does not require grad.
        """
        if self._current() is None:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        BaseTensor.retain_grads(self)
        if type(self._current()) is not Leaf:
            self._extra.box.adds = True  # type: ignore[union-attr]  # set by retain_grads

    @property
    def retains_grad(self) -> bool:
        """True if ``backward()`` stores the gradient of this non-leaf."""
        extra = getattr(self, "_extra", None)
        return extra is not None and extra.box is not None and type(self._current()) is not Leaf

    def register_hook(  # type: ignore[override]  # PyTorch's handle has another class
        self, hook: Callable[[Tensor], Any]
    ) -> RemovableHandle:
        """Call ``hook(gradient)`` in backward. A tensor that the hook returns replaces the gradient.

        Raises:
            RuntimeError: if the tensor does not require grad; in backward, if the hook returns a tensor of another
                shape or dtype.
            TypeError: if ``hook`` is not a function.
        """
        if self._current() is None:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if not callable(hook):
            raise TypeError(f"register_hook takes a function of the gradient, not {type(hook).__name__}")
        return RemovableHandle(BaseTensor.register_hook(self, lambda g: call_hook(hook, as_torch(g))).remove)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], Any]) -> RemovableHandle:
        """Call ``hook(tensor)`` each time after ``backward()`` has added to the gradient of this leaf.

        Raises:
            RuntimeError: if the tensor is not a leaf, or does not require grad; in backward, if the hook returns a
                value.
        """
        return call_after_accumulation(self, hook)

    def detach(self) -> Tensor:
        """Return an alias of the same shape without requires_grad. It shares storage and version with this tensor."""
        return as_torch(BaseTensor.detach(self))

    def detach_(self) -> Tensor:
        """Remove the history of this tensor, so that it no longer requires grad, and return the tensor.

        Raises:
            RuntimeError: if the tensor is a view.
        """
        if self._is_view():
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
                "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence "
                "detach_() cannot be called on these gradients. To fix this error, please refer to the "
                "Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution."
            )
        BaseTensor.detach_(self)
        return self

    def _is_view(self) -> bool:
        return self._history is not None and self._history.base is not self._array

    @property
    def _base(self) -> Tensor | None:
        """The tensor of which this tensor is a view, or None if it is not a view.

        No view refers to its base object, so the garbage collector searches for it.
        """
        if not self._is_view():
            return None
        history = self._history
        for each in gc.get_referrers(history):
            if isinstance(each, Tensor) and each._array is history.base:
                return each
        base = Tensor._alias(history.base, self._storage)  # the base object was freed, but its memory still exists
        base._node, base._history, base._seen = history.node, history, history.version
        return base

    # ---------- Python's own protocols ----------

    def __repr__(self) -> str:
        node = self._current()
        suffix = ""
        if type(node) is Leaf:
            suffix = "requires_grad=True"
        elif node is not None:
            suffix = f"grad_fn=<{type(self.grad_fn).__name__}>"
        return printing.text_of(
            host_array(self._array), "cpu" if gpu_of(self._array) is None else "cuda:0", suffix, self._array.shape
        )

    def __format__(self, spec: str) -> str:
        checks.text("format()", "spec", spec)
        if self._array.ndim == 0:
            return format(self.item(), spec) if spec else format(self.item())
        if spec:
            raise TypeError(
                f"format(): spec {spec!r} formats one number; this tensor has shape {list(self._array.shape)}"
            )
        return str(self)

    def __hash__(self) -> int:
        return id(self)

    def __len__(self) -> int:
        if self._array.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return self._array.shape[0]

    def __iter__(self) -> Any:
        if self._array.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __bool__(self) -> bool:
        if self._array.size != 1:
            few = "no values" if self._array.size == 0 else "more than one value"
            raise RuntimeError(f"Boolean value of Tensor with {few} is ambiguous")
        return bool(self._array)

    def __contains__(self, value: Any) -> bool:
        if not isinstance(value, (BaseTensor, bool, int, float)):
            raise RuntimeError(
                f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(value)}."
            )
        return bool((self == value)._array.any())  # type: ignore[attr-defined]  # a tensor of bools

    def item(self) -> float | int | bool:
        """Return the only element as a Python number.

        Raises:
            RuntimeError: if there is not exactly one element.
        """
        if self._array.size != 1:
            raise RuntimeError(f"a Tensor with {self._array.size} elements cannot be converted to Scalar")
        return self._array.item()

    def __index__(self) -> int:
        if self._array.dtype in FLOATS or self._array.size != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self._array.item())

    def tolist(self) -> Any:
        """Return the elements as nested lists of Python numbers, one level for each dimension."""
        return self._array.tolist()

    def __copy__(self) -> Tensor:
        return _as_class(type(self), BaseTensor.__copy__(self))

    def __deepcopy__(self, memo: dict[Any, Any]) -> Tensor:
        """Return a leaf on a copy of the whole storage.

        If one deep copy contains several tensors on this storage, their copies share the copied storage.

        Raises:
            RuntimeError: if the tensor is not a leaf.
        """
        checks.instance("__deepcopy__()", "memo", memo, dict, "a dict, as copy.deepcopy passes it")
        if self.grad_fn is not None:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
                "moment.  If you were attempting to deepcopy a module, this may be because of a "
                "torch.nn.utils.weight_norm usage, see https://github.com/pytorch/pytorch/pull/103001\n"
                f"This one is the result of {self.grad_fn.name()} and would lose its history. Use x.detach() first, or "
                "x.clone() to stay in the graph."
            )
        storage = self._storage
        if storage not in memo:
            cells = memory_of(storage.buffer).copy()
            memo[storage] = cells, new_storage(cells)
        cells, copied = memo[storage]
        if cells.dtype != self._array.dtype:  # the tensor is a view of the bytes as another dtype
            size = self._array.itemsize
            cells = cells[: cells.nbytes // size * size // cells.itemsize].view(self._array.dtype)
        other = type(self)._alias(strided(cells, self.offset, self._array.shape, self._array.strides), copied)
        memo[id(self)] = other
        if self.requires_grad:
            other.requires_grad = True
            gradient = BaseTensor.grad.fget(self)  # type: ignore[attr-defined]  # the function of a property
            if gradient is not None and self._copies_gradient:
                other._put_gradient(copy.deepcopy(as_torch(gradient), memo), copies=False)
        return other

    #: True if a deep copy of the tensor also copies its gradient. It is False for parameters.
    _copies_gradient = True

    def __reduce__(self) -> tuple[Any, ...]:
        make, arguments = BaseTensor.__reduce__(self)
        return _rebuild, (type(self), make, arguments)

    def __getattr__(self, name: str) -> Any:
        if name == "__cuda_array_interface__":
            raise AttributeError(
                "Can't get __cuda_array_interface__ on a tensor that is on the host", name=name, obj=self
            )
        if name.startswith("_"):
            raise AttributeError(f"'Tensor' object has no attribute {name!r}", name=name, obj=self)
        raise missing("'Tensor' object", name, dir(type(self)), obj=self)


class StorageReference:
    """A reference to a storage, as ``untyped_storage()`` returns it. Two references to the same storage are equal."""

    __slots__ = ("_storage", "_tensor")

    def __init__(self, storage: Storage, tensor: Tensor) -> None:
        self._storage, self._tensor = storage, tensor

    def data_ptr(self) -> int:
        """Return the address of the storage's first byte."""
        return self._tensor.data_ptr() - self._tensor.offset * self._tensor._array.itemsize

    def nbytes(self) -> int:
        """Return the storage's size in bytes."""
        return self._storage.buffer.nbytes

    size = nbytes
    __len__ = nbytes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StorageReference) and self.data_ptr() == other.data_ptr()

    def __hash__(self) -> int:
        return self.data_ptr()


def as_torch(x: BaseTensor) -> Any:
    """Change the class of ``x``, a tensor of the engine, to PyTorch's ``Tensor``, and return ``x``."""
    x.__class__ = Tensor
    return x


def as_result(x: BaseTensor) -> Any:
    """Return the view ``x`` as a PyTorch tensor that is not a view.

    The caller has created the base of ``x``, and nothing else refers to that base.
    """
    if x._history is not None:
        x._node, x._history = x._current(), None
    return as_torch(x)


def _as_class(kind: type, x: BaseTensor) -> Any:
    x.__class__ = kind
    return x


def _rebuild(kind: type, make: Callable[..., BaseTensor], arguments: tuple[Any, ...]) -> Any:
    """Return the tensor of class ``kind`` that a pickle describes."""
    return _as_class(kind, make(*arguments))


def without_history(x: Tensor, array: Any, name: str) -> Tensor:
    """Return a tensor without history on ``array``, which the operation ``name`` computed from ``x``."""
    if gpu_of(x._array) is None:
        array = np.asarray(array)
    return Tensor._made(array, name, (x,))
