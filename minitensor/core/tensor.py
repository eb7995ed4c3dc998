"""Tensor: how you look at a storage.

A tensor is an array header (shape, strides, offset, dtype), a handle on a
:class:`~minitensor.core.storage.Storage` and a place in a :class:`~minitensor.core.history.History`. It is cheap: a
view is a new tensor on an old storage. Operations, views and indexing are added to the class by the modules that
define them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from minitensor.core.blanks import TensorType
from minitensor.core.history import GradientBox, Leaf, Node, become_leaf, current, group_of, new_leaf
from minitensor.core.printing import format_tensor
from minitensor.core.regions import address
from minitensor.core.storage import Storage, new_storage
from minitensor.device.arrays import gpu_of, host_array
from minitensor.device.places import Place, place_of
from minitensor.dtypes import BY_NUMPY, FLOATS, DType
from minitensor.events import watch
from minitensor.modes import no_grad


class Extra:
    """What few tensors have.

    Attributes:
        name: a name that was asked for.
        box: retains the gradient of a non-leaf.
        paused: the leaf that a tensor was before its ``stop_gradient`` was set to True, its group, and its array.
        emptied: of a gradient, the version that ``clear_gradient`` made of it. While it has this one, the next backward
            gives another tensor and adds to none.
    """

    __slots__ = ("name", "box", "paused", "emptied")

    def __init__(self) -> None:
        self.name: str | None = None
        self.box: GradientBox | None = None
        self.paused: tuple[Leaf, Any, np.ndarray] | None = None
        self.emptied: int | None = None


class Hook:
    """A registered hook; ``remove()`` takes it off again. It refers to no node, so it keeps nothing alive."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function: Callable[..., Any] | None = function

    def remove(self) -> bool:
        """Take the hook off. False when it was gone already."""
        there, self.function = self.function is not None, None
        return there


class AfterHook(Hook):
    """Is called without arguments when backward has put the gradient of its leaf where readers find it."""

    __slots__ = ("after",)

    def __init__(self, after: Callable[[], Any]) -> None:
        self.function = None  # on the way there is nothing to do
        self.after: Callable[[], Any] | None = after

    def remove(self) -> bool:
        """Take the hook off. False when it was gone already."""
        there, self.after = self.after is not None, None
        return there


_numbers = itertools.count()

Kind = TypeVar("Kind", bound="Tensor")


class Tensor(metaclass=TensorType):
    """An n-dimensional array that knows its storage and its history. Made by ``to_tensor``, ``zeros``, ... .

    Threads may read one tensor, compute with it and bring its gradients, all at once. Two threads that write one
    storage, or one that writes what another reads, have to wait for each other themselves: nothing here orders them.
    """

    __slots__ = ("_array", "_storage", "_node", "_history", "_seen", "_extra", "__weakref__")

    #: Whether a program spells the operations of such a tensor otherwise than nodes, events and errors do.
    _spelled_otherwise = False

    # numpy leaves mixed expressions (`array + tensor`) to the tensor.
    __array_ufunc__ = None

    _array: np.ndarray
    _storage: Storage
    _node: Node | None
    _history: Any
    _seen: int
    _extra: Extra

    if TYPE_CHECKING:  # what the floors above put on the class; an operation of the table is found by its name

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
        """A tensor without history on ``array``, which owns its memory."""
        tensor = cls.__new__(cls)
        tensor._array = array
        tensor._storage = new_storage(array)
        tensor._node = None
        tensor._history = None
        if op and watch.listener is not None:
            watch.listener("make", tensor, op, inputs)
        return tensor

    @classmethod
    def _alias(cls: type[Kind], array: np.ndarray, storage: Storage) -> Kind:
        """A tensor without history on an old storage: the first of a new group."""
        tensor = cls.__new__(cls)
        tensor._array = array
        tensor._storage = storage
        tensor._node = None
        tensor._history = None
        return tensor

    def _extras(self) -> Extra:
        try:
            return self._extra
        except AttributeError:
            self._extra = extra = Extra()
            return extra

    def _current(self) -> Node | None:
        """The node of the value this tensor shows now."""
        return self._node if self._history is None else current(self)

    # ---------- how it looks at the storage ----------

    @property
    def shape(self) -> list[int]:
        """Elements along each dimension."""
        return list(self._array.shape)

    @property
    def ndim(self) -> int:
        """How many dimensions there are."""
        return self._array.ndim

    @property
    def size(self) -> int:
        """How many elements there are."""
        return self._array.size

    @property
    def strides(self) -> list[int]:
        """How many elements of the storage lie between neighbours, along each dimension."""
        size = self._array.itemsize
        return [stride // size for stride in self._array.strides]

    @property
    def offset(self) -> int:
        """How many elements of the storage lie before the first element."""
        return (address(self._array) - address(self._storage.buffer)) // self._array.itemsize

    @property
    def dtype(self) -> DType:
        """The element type; equal to its name, as in ``x.dtype == "float32"``."""
        return BY_NUMPY[self._array.dtype]

    @property
    def place(self) -> Place:
        """The device of the storage; equal to its name, as in ``x.place == "cpu"``."""
        return place_of(gpu_of(self._array))

    def element_size(self) -> int:
        """Bytes of one element."""
        return self._array.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of the elements this tensor shows (its storage may be larger)."""
        return self._array.nbytes

    def data_ptr(self) -> int:
        """The address in bytes of the first element."""
        return address(self._array)

    def is_contiguous(self) -> bool:
        """Whether the elements lie one behind the other, in the order of the last index first."""
        return self._array.flags.c_contiguous

    @property
    def inplace_version(self) -> int:
        """How many writes the storage has seen, through any tensor."""
        return self._storage.version

    # ---------- where its numbers came from ----------

    @property
    def stop_gradient(self) -> bool:
        """True when no gradient is wanted. False makes a leaf; TypeError for integers, or what is no bool."""
        return self._current() is None

    @stop_gradient.setter
    def stop_gradient(self, stop: bool) -> None:
        if not isinstance(stop, (bool, np.bool_)):
            raise TypeError(f"stop_gradient is True or False, not {stop!r}")
        node = self._current()
        if stop:
            if type(node) is Leaf:
                self._extras().paused = node, self._history, self._array
            # The tensor leaves its group: what was recorded stays with the others.
            self._node = self._history = None
        elif node is None and not self._resumed():
            if self._array.dtype not in FLOATS:
                raise TypeError(f"only a float32 or float64 tensor can want a gradient, not {self.dtype.name}")
            become_leaf(self, new_leaf(self._array.shape))

    def _resumed(self) -> bool:
        """Be again the leaf that was there before ``stop_gradient`` was True, unless the tensor looks elsewhere now."""
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
        """True when no recorded operation made this value."""
        node = self._current()
        return node is None or type(node) is Leaf

    @property
    def grad_fn(self) -> Node | None:
        """The recorded operation that made this value; None for a leaf."""
        node = self._current()
        return None if type(node) is Leaf else node

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward left here, of this shape and dtype: for a leaf, or after ``retain_grads()``.

        It is one tensor: the next backward adds to it in place, which raises its version, and whoever holds it sees
        that. Only after ``clear_gradient`` a new one comes. Update it under ``no_grad``: a recorded write would tie the
        gradient to the leaf it belongs to, and keep both in memory.
        """
        node = self._current()
        gradient: Tensor | None = None
        if type(node) is Leaf:
            gradient = node.saved
        elif (extra := getattr(self, "_extra", None)) is not None:
            if node is None and extra.paused is not None:
                gradient = extra.paused[0].saved
            elif extra.box is not None:
                gradient = extra.box.gradient
        return gradient

    @grad.setter
    def grad(self, gradient: Tensor | None) -> None:
        """None, or a tensor whose numbers are copied, into the gradient that is there if there is one."""
        self._put_gradient(gradient, copies=True)

    def _put_gradient(self, gradient: Any, copies: bool) -> None:
        """Have another gradient, or none.

        Raises:
            RuntimeError: this is no leaf that wants a gradient.
            TypeError, ValueError: ``gradient`` is no tensor, or of another shape, dtype or place.
        """
        node = self._current()
        if type(node) is not Leaf:
            raise RuntimeError("grad can be set on a leaf that wants a gradient only (stop_gradient=False)")
        if gradient is not None:
            if not isinstance(gradient, Tensor):
                raise TypeError(f"grad is a Tensor or None, not {type(gradient).__name__}")
            if gradient._array.shape != self._array.shape or gradient._array.dtype != self._array.dtype:
                raise ValueError(
                    f"grad of a tensor of shape {self.shape} and dtype {self.dtype.name} has the same shape and "
                    f"dtype, not {gradient.shape} and {gradient.dtype.name}"
                )
            if gpu_of(gradient._array) is not gpu_of(self._array):
                raise ValueError(f"grad of a tensor on {self.place} lies there, too, not on {gradient.place}")
            if copies and node.saved is not None:
                node.saved.set_value(gradient)
                return
            if copies:
                gradient = Tensor._made(gradient._array.copy(), "clone", (gradient,))
            elif not gradient.is_leaf:
                gradient = gradient.detach()  # its history may lead back to this leaf
        node.saved = gradient

    def clear_gradient(self, set_to_zero: bool = True) -> None:
        """Fill the gradient with zeros, or drop it (``set_to_zero=False``). The next one is another tensor."""
        gradient = self.grad
        if gradient is None:
            return
        node = self._current()
        if set_to_zero:
            with no_grad():
                gradient.zero_()
            gradient._extras().emptied = gradient._storage.version
        elif type(node) is Leaf:
            node.saved = None
        else:
            self._extra.box.gradient = None  # type: ignore[union-attr]  # it retains its gradient

    clear_grad = clear_gradient

    def retain_grads(self) -> None:
        """Keep the gradient of this non-leaf, too: that of the value at backward. RuntimeError where none is wanted."""
        node = self._current()
        if node is None:
            raise RuntimeError("retain_grads() on a tensor that wants no gradient (stop_gradient=True)")
        if type(node) is Leaf:
            return
        extra = self._extras()
        if extra.box is None:
            extra.box = GradientBox()
        node.add_hook(extra.box)
        if self._history is not None:
            self._history.note_retaining(self)

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Hook:
        """Call ``hook(gradient)`` in backward; what it returns replaces the gradient.

        The hook belongs to the value that the tensor has now: a later in-place operation makes another value. Raises
        RuntimeError where no gradient is wanted, TypeError for what is no function.
        """
        node = self._current()
        if node is None:
            raise RuntimeError("register_hook() on a tensor that wants no gradient (stop_gradient=True)")
        if not callable(hook):
            raise TypeError(f"register_hook takes a function of the gradient, not {type(hook).__name__}")
        handle = Hook(hook)
        node.add_hook(handle)
        return handle

    def detach(self) -> Tensor:
        """A tensor of this shape on the same storage that wants no gradient and begins a group of its own."""
        alias = Tensor._alias(self._array, self._storage)
        if watch.listener is not None:
            watch.listener("view", alias, "detach", (self,))
        return alias

    def detach_(self) -> Tensor:
        """Leave the group and the history; the same tensor, which now wants no gradient."""
        self.stop_gradient = True
        return self

    # ---------- names ----------

    @property
    def name(self) -> str:
        """A name for error messages; made up when first asked for."""
        extra = self._extras()
        if extra.name is None:
            extra.name = f"generated_tensor_{next(_numbers)}"
        return extra.name

    @name.setter
    def name(self, name: str) -> None:
        self._extras().name = str(name)

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
                f"ask about one element, or about `x.numpy().any()` or `.all()`"
            )
        return bool(self._array)

    def __contains__(self, value: Any) -> bool:
        equal = self == value
        if not isinstance(equal, Tensor):  # NotImplemented
            raise TypeError(f"`in` asks for a number or a tensor, not {type(value).__name__}")
        return bool(equal._array.any())

    def item(self) -> float | int | bool:
        """The one element, as a Python number; ValueError where there is not just one."""
        if self._array.size != 1:
            raise ValueError(f"item() wants a tensor of one element; this one has shape {self.shape}")
        number: float | int | bool = self._array.item()
        return number

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self._array.dtype.kind != "i" or self._array.size != 1:
            raise TypeError(f"an index is one integer; this tensor has shape {self.shape} and dtype {self.dtype.name}")
        return int(self._array.item())

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers, as deep as there are dimensions."""
        return self._array.tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError(
                "np.asarray(tensor, copy=False): a tensor gives numpy copies of its numbers only, unless memory is "
                "asked for by name: x.numpy(share=True)"
            )
        return host_array(self._array).astype(self._array.dtype if dtype is None else dtype, copy=True)

    def __copy__(self) -> Tensor:
        """Another tensor with the same storage, group and value: what a full view gives."""
        group_of(self)
        other = Tensor._alias(self._array, self._storage)
        other._node, other._history = self._current(), self._history
        other._seen = self._seen
        return other

    def _require_leaf(self, what: str) -> None:
        node = self._current()  # a vocabulary may give `grad_fn` another face
        if node is not None and type(node) is not Leaf:
            raise RuntimeError(
                f"only leaf tensors can be {what}: this one was made by {node.name} and would lose its "
                f"history. Use x.detach() first, or x.clone() to stay in the graph."
            )

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        """A leaf on memory of its own, without a gradient, as Paddle has it: views do not stay views."""
        self._require_leaf("deep-copied")
        memo[id(self)] = other = _rebuilt(self._array.copy(), self.stop_gradient)
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        # A pickle is read where there may be no such device: it comes back on the host.
        self._require_leaf("pickled")
        return _rebuilt, (np.array(host_array(self._array), order="C"), self.stop_gradient)

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else str(self)


def _rebuilt(array: np.ndarray, stop_gradient: bool) -> Tensor:
    """What a pickle or a deep copy is read back as. The array is taken over."""
    tensor = Tensor._made(array.astype(BY_NUMPY[array.dtype].numpy, order="C"))
    if not stop_gradient:
        tensor._node = new_leaf(array.shape)
    return tensor
