"""History: the operations that computed a tensor's numbers.

A :class:`Node` is one value that an operation computed, with links to the nodes of the operation's inputs. A node
refers to other nodes, saved arrays and the storages of these arrays, but never to tensors. Therefore there are no
reference cycles, and dropping the last tensor frees its whole history at once.

Tensors that are views of one another form a group. The :class:`History` of the group holds the node of the value that
is in the group's memory now, and counts how often this value has changed. If the value has changed since a view got its
node, the view gets a new node, which reads the view's part of the current value. A write through a view gives the group
a new value. ``detach()`` begins a new group. A tensor without views has no group: its ``_history`` is None, and
``_node`` alone is its history.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

import numpy as np

from minitensor.engine.core.iterative_dealloc import install_iterative_dealloc
from minitensor.engine.core.regions import Extent, PartGradient, Pick, Region, covers, extent_of, region_of, same_layout
from minitensor.engine.core.storage import CallSite, Storage, caller, calling_frame
from minitensor.engine.device.arrays import like

#: A saved array, its storage, and the version at which it was saved. The version is an integer until a write overwrites
#: bytes of the array; then :mod:`minitensor.engine.saved.saved` replaces it by an object.
Saved = tuple[np.ndarray, Storage, Any]


class Operation:
    """The part that all nodes of one operation share: its name and its gradient functions.

    ``backward(node, g)`` returns one gradient array (or None) per entry of ``node.inputs``. It may return ``g`` itself
    or a view of it, and never writes into ``g``. Any other array it returns is new and returned only once, because
    other gradients are added to it in place. ``on_tensors`` does the same with tensors, and its operations are
    recorded. A linear operation has a ``jvp`` instead of ``on_tensors``: ``jvp(node, i, u)`` is the operation's result
    if input ``i`` is ``u`` and the other inputs are zero.

    If an operation reads or writes a small part of a large memory, two shortcuts avoid passes over all of it: backward
    may return a :class:`~minitensor.engine.core.regions.PartGradient`; and if nothing else refers to ``g``,
    ``owned(node, g)``, which may write into ``g``, is called instead of backward.
    """

    __slots__ = ("name", "backward", "saved_names", "jvp", "owned", "later", "_on_tensors")

    #: Returns ``on_tensors``, which is created on first use.
    later: Callable[[], Callable[[Node, Any], Any]]
    _on_tensors: Callable[[Node, Any], Any]

    def __init__(
        self,
        name: str,
        backward: Callable[[Node, np.ndarray], Sequence[Any]],
        saved_names: tuple[str, ...] = (),
        jvp: Callable[[Node, int, np.ndarray], np.ndarray] | None = None,
        owned: Callable[[Node, np.ndarray], Sequence[Any]] | None = None,
    ) -> None:
        self.name, self.backward, self.saved_names = name, backward, saved_names
        self.jvp, self.owned = jvp, owned

    @property
    def on_tensors(self) -> Callable[[Node, Any], Any]:
        """``on_tensors(node, g)`` returns one gradient tensor (or None) per entry of ``node.inputs``."""
        try:
            return self._on_tensors
        except AttributeError:
            self._on_tensors = self.later()
            return self._on_tensors


class Node:
    """One computed value.

    Attributes:
        op: its :class:`Operation`.
        inputs: the nodes of the op's inputs; None for an input that requires no gradient.
        saved: the values that backward needs: :data:`Saved` triples (or None) in the order of ``op.saved_names``, then
            plain values.
        shape: the shape of the value.
        hooks: a list of callables and :class:`GradientBox`, or None.
        code, instruction: the code object that called the operation, and the position of the call in this code.
    """

    __slots__ = ("op", "inputs", "saved", "shape", "hooks", "code", "instruction", "__weakref__")

    op: Operation
    inputs: tuple[Node | None, ...]
    saved: Any
    shape: tuple[int, ...]
    hooks: list[Any] | None
    code: CodeType
    instruction: int

    @property
    def name(self) -> str:
        """The name of the operation."""
        return self.op.name

    @property
    def place(self) -> CallSite:
        """The line of the program that called the operation."""
        return CallSite(self.code, self.instruction)

    def add_hook(self, hook: Any) -> None:
        """Register ``hook`` (a :class:`GradientBox`, or a tensor's ``Hook``) unless it is registered already."""
        if self.hooks is None:
            self.hooks = []
        if hook not in self.hooks:
            self.hooks.append(hook)

    def __repr__(self) -> str:
        return f"<{self.op.name}, {self.place}>"


install_iterative_dealloc(Node)


class Leaf(Node):
    """A value that the program created and that requires a gradient. ``saved`` holds its gradient."""

    __slots__ = ()


LEAF = Operation("leaf", lambda node, g: ())


def new_leaf(shape: tuple[int, ...]) -> Leaf:
    """Return a leaf that has no gradient yet."""
    leaf = Leaf()
    leaf.op, leaf.inputs, leaf.saved, leaf.shape, leaf.hooks = LEAF, (), None, shape, None
    leaf.code, leaf.instruction = caller()
    return leaf


def new_node(
    op: Operation,
    inputs: tuple[Node | None, ...],
    saved: tuple[Any, ...],
    shape: tuple[int, ...],
    place: tuple[CodeType, int] | None = None,
) -> Node:
    """Return a node for an operation that was just called. ``place`` is the code position of the call, if known."""
    node = Node()
    node.op = op
    node.inputs = inputs
    node.saved = saved
    node.shape = shape
    node.hooks = None
    if place is None:
        frame = calling_frame()
        node.code, node.instruction = frame.f_code, frame.f_lasti
    else:
        node.code, node.instruction = place
    return node


class GradientBox:
    """The retained gradient of a non-leaf (``retain_grads``), registered among the hooks of the tensor's current node.

    Attributes:
        gradient: the retained gradient; None until a backward stores one.
        adds: if False, as in Paddle, each backward replaces the gradient when the box's turn comes among the hooks, in
            the order of registration. If True, as in PyTorch, each backward adds to it after all hooks have run.
    """

    __slots__ = ("gradient", "adds")

    def __init__(self) -> None:
        self.gradient: Any = None
        self.adds = False


def move_boxes(old: Node, new: Node | None) -> None:
    """Move retained gradients from node ``old`` to ``new`` after a tensor's value changed; hooks remain on ``old``."""
    if old.hooks is None:
        return
    for box in [hook for hook in old.hooks if type(hook) is GradientBox]:
        old.hooks.remove(box)
        if new is not None:
            new.add_hook(box)


class History:
    """The state of one group of views.

    Attributes:
        base: the array of the tensor with which the group began. It has the shape of the gradients of the group's node.
        node: the node of the value that the base's memory holds now, or None.
        version: the number of changes of ``node``: recorded writes, and leaves that became the value of the group.
        retaining: weak references to the members that retain their gradient; None if there are none.
    """

    __slots__ = ("base", "node", "version", "retaining", "_extent")

    base: np.ndarray
    node: Node | None
    version: int

    def __init__(self, base: Any) -> None:
        self.base = base._array
        self.node = node = base._node
        self.version = 0
        self._extent: Extent | None = None
        self.retaining: list[weakref.ref[Any]] | None = None
        if node is not None and node.hooks is not None:
            self.note_retaining(base)

    def region_of(self, array: np.ndarray) -> Region:
        """Locate ``array``, a view of the group's memory, in the memory of the base. The base's extent is cached."""
        if self._extent is None:
            self._extent = extent_of(self.base)
        return self._extent.region_of(array)

    def region_shown(self, x: Any) -> Region | Pick:
        """Return the region of the base that ``x``, a tensor of the group, shows."""
        node = x._node
        if node is not None and node.inputs and node.inputs[0] is self.node and node.saved:
            # `x` is a view of the base's current value. If an index made this view, the index selects from the base.
            pick = node.saved[0]
            if isinstance(pick, Pick):
                return pick
        return self.region_of(x._array)

    def note_retaining(self, member: Any) -> None:
        """Register ``member`` if it retains its gradient, because its box must move when another member is written."""
        if getattr(member, "_extra", None) is not None and member._extra.box is not None:
            others = [
                reference for reference in self.retaining or () if reference() is not None and reference() is not member
            ]
            self.retaining = [*others, weakref.ref(member)]


def group_of(x: Any) -> History:
    """Return the group of tensor ``x``; if it has none, create one with ``x`` as its base."""
    history: History | None = x._history
    if history is None:
        x._history = history = History(x)
        x._seen = 0
    return history


def read_node(history: History, array: np.ndarray, op: Operation) -> Node:
    """Return a node that reads ``array``, a view of the group's memory, from the group's current value."""
    return new_node(op, (history.node,), (history.region_of(array),), array.shape)


def current(x: Any) -> Node | None:
    """Return the node of the value that ``x``, a tensor of a group, shows now; None if it requires no gradient."""
    history: History = x._history
    old: Node | None = x._node
    if x._seen == history.version:
        return old
    if history.node is None or x._array is history.base:
        node = history.node
    else:
        node = read_node(history, x._array, READ)
    if old is not None:
        move_boxes(old, node)
    x._node, x._seen = node, history.version
    return node


def peek(x: Any) -> Node | None:
    """Like :func:`current`, but if ``x`` needs a new node, return the group's node instead of creating one."""
    history: History | None = x._history
    own: Node | None = x._node
    return own if history is None or x._seen == history.version else history.node


def record_write(x: Any, node: Node) -> None:
    """Record that tensor ``x``, which has a group, was overwritten with the value of ``node``.

    The written part becomes a part of the base's new value. If ``x`` is a view, it reads this part when it is next used
    (:func:`current`), like every other view. Therefore the gradient of the base includes the gradients that flow
    through ``x``, as in PyTorch.
    """
    history = x._history
    history.version += 1
    if x._array is history.base:
        if x._node is not None:
            move_boxes(x._node, node)
        history.node = x._node = node
        x._seen = history.version
    else:
        region = history.region_shown(x)
        history.node = new_node(
            WRITE, (history.node, node), (region,), history.base.shape, (node.code, node.instruction)
        )
    if history.retaining is not None:
        follow_retaining(history)


def follow_retaining(history: History) -> None:
    """Move the boxes of all members that retain their gradient to the nodes of their new values."""
    for reference in history.retaining or ():
        member = reference()
        if member is not None and member._history is history:
            current(member)


def set_node(x: Any, node: Node) -> None:
    """Record that tensor ``x`` was overwritten with the value of ``node``."""
    if x._history is not None:
        record_write(x, node)
    else:
        if x._node is not None and x._node.hooks is not None:
            move_boxes(x._node, node)
        x._node = node


def become_leaf(x: Any, leaf: Leaf) -> None:
    """Make ``leaf`` the node of tensor ``x``, which requires no gradient so far.

    If ``x`` covers all memory of its group, the leaf becomes the value of the group. Otherwise, ``x`` leaves the group.
    """
    x._node = leaf
    history = x._history
    if history is None:
        return
    if not covers(x._array, history.base):
        x._history = None
        return
    if same_layout(x._array, history.base):
        history.node = leaf
    else:  # `x` shows the memory of the base in another shape or with other strides
        history.node = new_node(READ, (leaf,), (region_of(history.base, x._array),), history.base.shape)
    history.version += 1
    x._seen = history.version


def is_protected(x: Any) -> bool:
    """True if ``x`` is a leaf that requires a gradient, or a view of one."""
    history = x._history
    if type(x._node) is Leaf and (history is None or x._seen == history.version):
        return True
    if history is None:
        return False
    node = history.node
    while node is not None and (node.op is RESHAPED or node.op is READ):
        node = node.inputs[0]
    return type(node) is Leaf


# ---------- the three operations of view groups ----------


def _read_backward(node: Node, g: np.ndarray) -> tuple[PartGradient]:
    (region,) = node.saved
    return (PartGradient(g, region, node.inputs[0].shape),)  # type: ignore[union-attr]  # this input is recorded


def _write_backward(node: Node, g: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    (region,) = node.saved
    part, rest = region.split(g)
    return (rest if node.inputs[0] is not None else None), part


def _write_exclusive(node: Node, g: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    (region,) = node.saved
    part = region.take(g)
    if part is None:
        return _write_backward(node, g)
    return (g if node.inputs[0] is not None else None), part


def _reshape_backward(node: Node, g: np.ndarray) -> tuple[np.ndarray]:
    (back,) = node.saved
    return (back(g),)


def _read_jvp(node: Node, _: int, u: np.ndarray) -> np.ndarray:
    region: Region
    (region,) = node.saved
    return region.show(u)


def _write_jvp(node: Node, i: int, u: np.ndarray) -> np.ndarray:
    region: Region | Pick
    (region,) = node.saved
    if i == 0:
        return region.split(u)[1]
    shape = region(np.empty(node.shape, np.bool_)).shape if isinstance(region, Pick) else region.view.shape
    return region.spread(repeated(u, shape), node.shape)


def _reshape_jvp(node: Node, _: int, u: np.ndarray) -> np.ndarray:
    (back,) = node.saved
    old = np.zeros((u.size,), u.dtype, like=u)
    old[like(back(np.arange(u.size).reshape(node.shape)).ravel(), u)] = u.ravel()
    return old.reshape(node.shape)


def repeated(u: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Broadcast ``u`` to ``shape``; if ``u`` has more dimensions, remove leading ones of length 1 first."""
    return np.broadcast_to(u.reshape(u.shape[max(u.ndim - len(shape), 0) :]), shape)


#: Reads a view's part of the group's current value.
READ = Operation("read", _read_backward, jvp=_read_jvp)
#: Computes the group's value after a write through a view that covers a part of it.
WRITE = Operation("write", _write_backward, jvp=_write_jvp, owned=_write_exclusive)
#: The operation of a former leaf node, after the leaf was reshaped under ``no_grad``. Its input is the new leaf node.
RESHAPED = Operation("reshaped", _reshape_backward, jvp=_reshape_jvp)


def reshape_leaf(x: Any, array: np.ndarray, back: Callable[[np.ndarray], np.ndarray]) -> None:
    """Give leaf ``x`` the shape and strides of ``array``; it remains a leaf, on a new node.

    Operations recorded earlier send gradients of the old shape, which ``back`` converts to the new shape.
    """
    old = x._node
    new = new_leaf(array.shape)
    if old.saved is not None:
        gradient = old.saved
        new.saved = type(gradient)._made(back(gradient._array).copy())
    new.hooks, old.hooks = old.hooks, None
    old.__class__ = Node
    old.op, old.inputs, old.saved = RESHAPED, (new,), (back,)
    x._node, x._array = new, array
