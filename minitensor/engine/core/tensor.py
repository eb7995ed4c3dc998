"""Tensor: a view of a storage.

A tensor is an array header (shape, strides, offset, dtype), a reference to a
:class:`~minitensor.engine.core.storage.Storage` and a position in a :class:`~minitensor.engine.core.history.History`.
Views are cheap, because a view is a new tensor on an existing storage. The modules that define operations, views and
indexing add them to the class.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from minitensor.engine import checks
from minitensor.engine.checks import shown
from minitensor.engine.core.history import GradientBox, Leaf, Node, become_leaf, current, group_of, new_leaf
from minitensor.engine.core.layout_rules import always_contiguous, laid_out, register_layout
from minitensor.engine.core.printing import format_tensor
from minitensor.engine.core.regions import strides_of
from minitensor.engine.core.storage import Storage, new_storage
from minitensor.engine.core.tensor_type import TensorType
from minitensor.engine.device.arrays import address_of, gpu_of, host_array
from minitensor.engine.device.places import Place
from minitensor.engine.dtypes import BY_NUMPY, FLOATS, INTEGERS, DType
from minitensor.engine.events import TensorCreated, ViewCreated, watch
from minitensor.engine.modes import no_grad


class Extra:
    """Rarely used state of a tensor, allocated on demand.

    Attributes:
        name: the tensor's name, after it was requested or set.
        box: holds the retained gradient of a non-leaf; None without ``retain_grads()``.
        paused: the node, group and array that a leaf had before its ``stop_gradient`` was set to True; otherwise None.
        emptied: the version of a gradient after ``clear_gradient``. While the gradient still has this version, the next
            backward replaces it with a new tensor instead of adding to it.
    """

    __slots__ = ("name", "box", "paused", "emptied")

    def __init__(self) -> None:
        self.name: str | None = None
        self.box: GradientBox | None = None
        self.paused: tuple[Leaf, Any, np.ndarray] | None = None
        self.emptied: int | None = None


class Hook:
    """A registered hook; ``remove()`` unregisters it. It refers to no node, so it keeps no history alive."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function: Callable[..., Any] | None = function

    def remove(self) -> bool:
        """Unregister the hook. Return False if it was removed before."""
        was_registered, self.function = self.function is not None, None
        return was_registered


class AfterHook(Hook):
    """A hook that is called without arguments after backward has stored the gradient of its leaf."""

    __slots__ = ("after",)

    def __init__(self, after: Callable[[], Any]) -> None:
        self.function = None  # there is no hook on the gradient itself
        self.after: Callable[[], Any] | None = after

    def remove(self) -> bool:
        """Unregister the hook. Return False if it was removed before."""
        was_registered, self.after = self.after is not None, None
        return was_registered


_numbers = itertools.count()

Kind = TypeVar("Kind", bound="Tensor")


class Tensor(metaclass=TensorType):
    """An n-dimensional array with a storage and a history. Create one with ``to_tensor``, ``zeros``, ... .

    Several threads may read one tensor, compute with it and accumulate its gradients at the same time. If a thread
    writes a storage that another reads or writes, the program has to synchronize them: the engine does not.
    """

    __slots__ = ("_array", "_storage", "_node", "_history", "_seen", "_extra", "__weakref__")

    #: True in a vocabulary (a framework's names for the engine) that renames operations. Nodes keep the engine's names.
    _spelled_otherwise = False
    #: Maps the name of an operation to the rule for the layout of its result. As in Paddle, all results are contiguous.
    _layout_of = staticmethod(always_contiguous)

    # With None, numpy leaves mixed expressions such as `array + tensor` to the operators of the tensor.
    __array_ufunc__ = None

    _array: np.ndarray
    _storage: Storage
    _node: Node | None
    _history: Any
    _seen: int
    _extra: Extra

    if TYPE_CHECKING:  # attributes that other packages add to the class; `__getattr__` covers operations of the table

        def __getattr__(self, name: str) -> Any: ...

        def _with(self: Kind, other: Any) -> Kind: ...

        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _with
        __pow__ = __rpow__ = __lt__ = __le__ = __gt__ = __ge__ = _with

        def __neg__(self: Kind) -> Kind: ...

        __getitem__: Callable[..., Any]
        __setitem__: Callable[..., None]
        __matmul__: Callable[..., Any]
        __pos__: Callable[..., Any]
        T: Any
        astype: Callable[..., Any]
        backward: Callable[..., Any]
        copy_: Callable[..., Any]
        numpy: Callable[..., np.ndarray]
        set_value: Callable[..., Any]
        __dlpack__: Callable[..., Any]
        __dlpack_device__: Callable[..., Any]
        __cuda_array_interface__: Any

    @classmethod
    def _made(cls: type[Kind], array: np.ndarray, op: str = "", inputs: tuple[Any, ...] = ()) -> Kind:
        """Return a tensor without history on a new storage for ``array``, which must own its memory."""
        tensor = cls.__new__(cls)
        tensor._array = array = laid_out(array, op, inputs)
        tensor._storage = new_storage(array)
        tensor._node = tensor._history = None
        if op and watch.listener is not None:
            watch.listener(TensorCreated(tensor, op, inputs))
        return tensor

    @classmethod
    def _alias(cls: type[Kind], array: np.ndarray, storage: Storage) -> Kind:
        """Return a tensor on an existing storage. It has no history and is in no group of views yet."""
        tensor = cls.__new__(cls)
        tensor._array = register_layout(array)
        tensor._storage = storage
        tensor._node = tensor._history = None
        return tensor

    def _extras(self) -> Extra:
        try:
            return self._extra
        except AttributeError:
            self._extra = extra = Extra()
            return extra

    def _current(self) -> Node | None:
        """Return the node of the value that this tensor shows now; None if the value requires no gradient."""
        return self._node if self._history is None else current(self)

    # ---------- the view of the storage ----------

    @property
    def shape(self) -> list[int]:
        """The number of elements along each dimension."""
        return list(self._array.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._array.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._array.size

    @property
    def strides(self) -> list[int]:
        """The distance between neighbouring elements along each dimension, in elements of the storage."""
        return strides_of(self._array)

    @property
    def offset(self) -> int:
        """The number of elements of the storage before the first element."""
        return (address_of(self._array) - address_of(self._storage.buffer)) // self._array.itemsize

    @property
    def dtype(self) -> DType:
        """The element type; equal to its name, as in ``x.dtype == "float32"``."""
        return BY_NUMPY[self._array.dtype]

    @property
    def place(self) -> Place:
        """The device of the storage; equal to its name, as in ``x.place == "cpu"``."""
        return Place(gpu_of(self._array))

    def element_size(self) -> int:
        """Return the size of one element in bytes."""
        return self._array.itemsize

    @property
    def nbytes(self) -> int:
        """The size in bytes of the elements that this tensor shows (its storage may be larger)."""
        return self._array.nbytes

    def data_ptr(self) -> int:
        """Return the address in bytes of the first element."""
        return address_of(self._array)

    def is_contiguous(self) -> bool:
        """True if the elements are adjacent in memory in C order (last index fastest)."""
        return self._array.flags.c_contiguous

    @property
    def inplace_version(self) -> int:
        """The number of writes to the storage, through any tensor."""
        return self._storage.version

    # ---------- the history ----------

    @property
    def stop_gradient(self) -> bool:
        """True if no gradient is required. Setting it to False makes a tensor of floats a leaf; other dtypes raise."""
        return self._current() is None

    @stop_gradient.setter
    def stop_gradient(self, stop: bool) -> None:
        if not isinstance(stop, (bool, np.bool_)):
            raise TypeError(f"stop_gradient must be True or False, not {shown(stop)}")
        node = self._current()
        if stop:
            if type(node) is Leaf:
                self._extras().paused = node, self._history, self._array
            # The tensor leaves its group. The other members keep the recorded history.
            self._node = self._history = None
        elif node is None and not self._resume():
            if self._array.dtype not in FLOATS:
                text = f"only a tensor of floats can require a gradient, not {self.dtype.name}"
                raise TypeError(f"{text}; convert it first, as in x.astype('float32')")
            become_leaf(self, new_leaf(self._array.shape))

    def _resume(self) -> bool:
        """Undo ``stop_gradient = True`` for a leaf. Return False for a non-leaf, and if the array or group changed."""
        extra = getattr(self, "_extra", None)
        if extra is None or extra.paused is None:
            return False
        (leaf, history, array), extra.paused = extra.paused, None
        if array is not self._array or self._history is not None:
            return False
        self._node, self._history = leaf, history
        if history is not None:
            self._seen = history.version
        return True

    @property
    def is_leaf(self) -> bool:
        """True if no recorded operation computed this value."""
        node = self._current()
        return node is None or type(node) is Leaf

    @property
    def grad_fn(self) -> Node | None:
        """The recorded operation that computed this value; None for a leaf."""
        node = self._current()
        return None if type(node) is Leaf else node

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward accumulated for a leaf, or for a tensor with ``retain_grads()``; else None.

        It has the shape and dtype of the tensor, and remains one tensor object: the next backward adds to it in place,
        which raises its version and is visible through every reference to it. After ``clear_gradient``, the next
        backward creates a new one. Update it under ``no_grad``: a recorded write would connect the gradient to its
        leaf, and keep both in memory.
        """
        if (leaf := self._leaf()) is not None:
            return leaf.saved  # type: ignore[no-any-return]  # `saved` of a leaf is its gradient
        extra = getattr(self, "_extra", None)
        return None if extra is None or extra.box is None else extra.box.gradient

    @grad.setter
    def grad(self, gradient: Tensor | None) -> None:
        """Copy the numbers of a tensor into the gradient (a new one if there is none). None removes the gradient."""
        self._put_gradient(gradient, copies=True)

    def _leaf(self) -> Leaf | None:
        """Return the leaf that holds the gradient, also after ``stop_gradient = True``; None for other tensors."""
        node, extra = self._current(), getattr(self, "_extra", None)
        if node is None and extra is not None and extra.paused is not None:
            node = extra.paused[0]
        return node if type(node) is Leaf else None

    def _put_gradient(self, gradient: Any, copies: bool) -> None:
        """Copy ``gradient`` if ``copies``; else store it (detached unless it is a leaf). None removes the old gradient.

        Raises:
            RuntimeError: this is not a leaf that requires a gradient.
            TypeError, ValueError: ``gradient`` is not a tensor, or has another shape, dtype or place.
        """
        node = self._leaf()
        if node is None:
            raise RuntimeError("grad can be set only on a leaf that requires a gradient (stop_gradient=False)")
        if gradient is not None:
            if not isinstance(gradient, Tensor):
                raise TypeError(f"grad must be a Tensor or None, not {type(gradient).__name__}")
            if gradient._array.shape != self._array.shape or gradient._array.dtype != self._array.dtype:
                raise ValueError(
                    f"grad of a tensor of shape {self.shape} and dtype {self.dtype.name} must have the same shape and "
                    f"dtype, not {gradient.shape} and {gradient.dtype.name}"
                )
            if gpu_of(gradient._array) is not gpu_of(self._array):
                raise ValueError(f"grad of a tensor on {self.place} must be on that device, not on {gradient.place}")
            if copies and node.saved is not None:
                node.saved.set_value(gradient)
                return
            if copies:
                gradient = Tensor._made(gradient._array.copy(), "clone", (gradient,))
            elif not gradient.is_leaf:
                gradient = gradient.detach()  # its history may refer to this leaf
        node.saved = gradient

    def clear_gradient(self, set_to_zero: bool = True) -> None:
        """Zero the gradient, or remove it (``set_to_zero=False``). The next backward creates a new tensor."""
        gradient = self.grad
        if gradient is None:
            return
        leaf = self._leaf()
        if set_to_zero:
            with no_grad():
                gradient.zero_()
            gradient._extras().emptied = gradient._storage.version
        elif leaf is not None:
            leaf.saved = None
        else:
            self._extra.box.gradient = None  # type: ignore[union-attr]  # a non-leaf with a gradient has a box

    clear_grad = clear_gradient

    def retain_grads(self) -> None:
        """Let backward keep the gradient of this tensor in ``grad``; raise RuntimeError if no gradient is required."""
        node = self._current()
        if node is None:
            raise RuntimeError("retain_grads() on a tensor that requires no gradient (stop_gradient=True)")
        if type(node) is Leaf:
            return
        extra = self._extras()
        if extra.box is None:
            extra.box = GradientBox()
        node.add_hook(extra.box)
        if self._history is not None:
            self._history.note_retaining(self)

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Hook:
        """Call ``hook(gradient)`` in backward; a tensor that it returns replaces the gradient.

        The hook belongs to the tensor's current value, not to the values after later in-place operations. RuntimeError
        is raised if no gradient is required, and TypeError if ``hook`` is not callable.
        """
        node = self._current()
        if node is None:
            raise RuntimeError("register_hook() on a tensor that requires no gradient (stop_gradient=True)")
        if not callable(hook):
            raise TypeError(f"register_hook takes a function of the gradient, not {type(hook).__name__}")
        handle = Hook(hook)
        node.add_hook(handle)
        return handle

    def detach(self) -> Tensor:
        """Return a tensor of the same shape on the same storage, without history and outside this tensor's group."""
        alias = Tensor._alias(self._array, self._storage)
        if watch.listener is not None:
            watch.listener(ViewCreated(alias, "detach", (self,)))
        return alias

    def detach_(self) -> Tensor:
        """Leave the group and the history; return this tensor, which now requires no gradient."""
        self.stop_gradient = True
        return self

    # ---------- names ----------

    @property
    def name(self) -> str:
        """The name for error messages, generated on first use."""
        extra = self._extras()
        if extra.name is None:
            extra.name = f"generated_tensor_{next(_numbers)}"
        return extra.name

    @name.setter
    def name(self, name: str) -> None:
        self._extras().name = checks.text("Tensor", "name", name)

    # ---------- Python's own protocols ----------

    def __repr__(self) -> str:
        return format_tensor(
            host_array(self._array), dtype_name=self.dtype.name, place=self.place, stop_gradient=self.stop_gradient
        )

    def __hash__(self) -> int:
        return id(self)

    def __len__(self) -> int:
        if self._array.ndim == 0:
            raise TypeError("len() of a tensor without dimensions; its shape is []")
        return int(self._array.shape[0])

    def __iter__(self) -> Any:
        if self._array.ndim == 0:
            raise TypeError("a tensor without dimensions cannot be iterated over; its shape is []")
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        if self._array.size != 1:
            raise ValueError(
                f"a tensor of shape {self.shape} has {self._array.size} elements and is neither true nor false; "
                f"test one element, or `x.numpy().any()` or `.all()`"
            )
        return bool(self._array)

    def __contains__(self, value: Any) -> bool:
        equal = self == value
        if not isinstance(equal, Tensor):  # the comparison returned NotImplemented
            raise TypeError(f"`in` takes a number or a tensor, not {type(value).__name__}")
        return bool(equal._array.any())

    def item(self) -> float | int | bool:
        """Return the only element as a Python number; raise ValueError unless there is exactly one."""
        if self._array.size != 1:
            raise ValueError(f"item() needs a tensor of one element; this one has shape {self.shape}")
        number: float | int | bool = self._array.item()
        return number

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self._array.dtype not in INTEGERS or self._array.size != 1:
            raise TypeError(f"an index must be one integer, not a {self.dtype.name} tensor of shape {self.shape}")
        return int(self._array.item())

    def tolist(self) -> Any:
        """Return the elements as nested lists of Python numbers, one level per dimension."""
        return self._array.tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            text = "a tensor gives numpy only copies of its numbers; to share memory, call x.numpy(share=True)"
            raise ValueError(f"np.asarray(tensor, copy=False): {text}")
        as_dtype = self._array.dtype if dtype is None else checks.numpy_dtype("__array__", dtype)
        return host_array(self._array).astype(as_dtype, copy=True)

    def __copy__(self) -> Tensor:
        """Return another tensor with the same storage, group and value, like a view of all elements."""
        group_of(self)
        other = Tensor._alias(self._array, self._storage)
        other._node, other._history = self._current(), self._history
        other._seen = self._seen
        return other

    def _require_leaf(self, what: str) -> None:
        node = self._current()  # not `grad_fn`, which a vocabulary may override
        if node is not None and type(node) is not Leaf:
            raise RuntimeError(
                f"only leaf tensors can be {what}: this one was made by {node.name} and would lose its "
                f"history. Use x.detach() first, or x.clone() to stay in the graph."
            )

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        """Return a leaf on new memory without a gradient, as Paddle does. The copy of a view is no view."""
        checks.instance("__deepcopy__", "memo", memo, dict, "a dict, as copy.deepcopy passes it")
        self._require_leaf("deep-copied")
        memo[id(self)] = other = _rebuilt(self._array, self.stop_gradient)
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickle a copy in host memory, because the program that loads it may not have the device of this tensor.
        self._require_leaf("pickled")
        return _rebuilt, (np.array(host_array(self._array), order="C"), self.stop_gradient)

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if checks.text("format", "spec", spec) else str(self)


def _rebuilt(array: np.ndarray, stop_gradient: bool) -> Tensor:
    """Return a leaf on a copy of ``array``. Pickles refer to this function by its name."""
    tensor = Tensor._made(array.astype(BY_NUMPY[array.dtype].numpy, order="C"))
    if not stop_gradient:
        tensor._node = new_leaf(array.shape)
    return tensor
