"""History: where the numbers came from.

A :class:`Node` is one value that an operation computed and the way back to the operation's inputs. Nodes hold other
nodes, saved arrays and the storages of those, never tensors: so there are no reference cycles, and dropping the last
tensor frees its whole history at once.

Tensors that are views of one another form a group. Its :class:`History` says which node the group's memory holds
now, and counts how often that has changed. A view whose own node is out of date reads its part of the group's
current value; a write through a view makes the group's next value. ``detach()`` begins a new group. A tensor
that has no views has no group: its ``_history`` is None, and where its numbers came from is ``_node`` alone.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import CodeType
from typing import Any

import numpy as np

from minitensor.core.regions import Extent, PartGradient, Pick, Region, covers, extent_of, region_of, same_layout
from minitensor.core.small_stack import mind_the_stack
from minitensor.core.storage import Place, Storage, caller, calling_frame
from minitensor.device.arrays import like

#: A saved array, the storage it lies in, and the version at which it was saved: an integer, or what
#: :mod:`minitensor.saving.saved` puts in its place once a write took some of its bytes.
Saved = tuple[np.ndarray, Storage, Any]


class Operation:
    """What nodes of one kind have in common.

    ``backward(node, g)`` returns one gradient array (or None) per entry of ``node.inputs``. It may return ``g``
    itself, or a view of it, and never writes into it. What else it returns is new, and not twice the same: others are
    added to it in place. ``on_tensors`` does the same with tensors, recorded. A linear operation gives its ``jvp``
    in place of that: ``jvp(node, i, u)`` is what it makes of ``u`` in place of input ``i``, with zeros for the other
    inputs.

    Where a small part of a large memory is read or written, passes over all of it are saved: backward may answer with a
    :class:`~minitensor.core.regions.PartGradient`; and ``owned(node, g)``, which may write into ``g``, stands in for it
    where nobody else holds ``g``.
    """

    __slots__ = ("name", "backward", "saved_names", "jvp", "owned", "later", "_on_tensors")

    #: Makes ``on_tensors`` when it is first asked for.
    later: Callable[[], Callable[[Node, Any], Any]]
    _on_tensors: Callable[[Node, Any], Any]

    def __init__(
        self,
        name: str,
        backward: Callable[[Node, np.ndarray], Any],
        saved_names: tuple[str, ...] = (),
        jvp: Callable[[Node, int, np.ndarray], np.ndarray] | None = None,
        owned: Callable[[Node, np.ndarray], Any] | None = None,
    ) -> None:
        self.name = name
        self.backward = backward
        self.saved_names = saved_names
        self.jvp = jvp
        self.owned = owned

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
        inputs: the nodes of the op's inputs; None where an input wants no gradient.
        saved: what backward needs: :data:`Saved` triples (or None) in the order of
            ``op.saved_names``, then plain values.
        shape: the shape of the value.
        hooks: a list of callables and :class:`GradientBox`, or None.
        code, instruction: where the operation was called.
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
    def place(self) -> Place:
        """The line that called the operation."""
        return Place(self.code, self.instruction)

    def add_hook(self, hook: Any) -> None:
        """Have ``hook`` (a callable's handle or a :class:`GradientBox`) meet the gradient of this value, once."""
        if self.hooks is None:
            self.hooks = []
        if hook not in self.hooks:
            self.hooks.append(hook)

    def __repr__(self) -> str:
        return f"<{self.op.name}, {self.place}>"


mind_the_stack(Node)


class Leaf(Node):
    """A value that the program began with and whose gradient is wanted. Its gradient is kept in ``saved``."""

    __slots__ = ()


def _nothing(node: Node, g: np.ndarray) -> tuple[()]:
    return ()


LEAF = Operation("leaf", _nothing)


def new_leaf(shape: tuple[int, ...]) -> Leaf:
    """A leaf without a gradient yet."""
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
    """A node for an operation that was just called, at ``place`` where that is known already."""
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
    """Keeps the gradient of a tensor that is not a leaf (``retain_grads``). It follows the tensor's current value.

    ``adds``: whether the next backward's gradient is added to it, as in PyTorch, or takes its place, as in Paddle.
    """

    __slots__ = ("gradient", "adds")

    def __init__(self) -> None:
        self.gradient: Any = None
        self.adds = False


def move_boxes(old: Node, new: Node | None) -> None:
    """The value of a tensor has changed from ``old`` to ``new``: its retained gradient follows, its hooks stay."""
    if old.hooks is None:
        return
    for box in [hook for hook in old.hooks if type(hook) is GradientBox]:
        old.hooks.remove(box)
        if new is not None:
            new.add_hook(box)


class History:
    """The state of one view group.

    Attributes:
        base: the array of the tensor the group began with. Gradients of the group's node have its shape.
        node: the node of the value that the base's memory holds now, or None.
        version: how many recorded writes the group has seen.
        retaining: weak references to the members that retain their gradient; None while there are none.
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
        """Where ``array``, a view on the group's memory, lies in that of the base, which is measured once."""
        if self._extent is None:
            self._extent = extent_of(self.base)
        return self._extent.region_of(array)

    def region_shown(self, x: Any) -> Region | Pick:
        """Where ``x``, a tensor of the group, looks at the base."""
        node = x._node
        if node is not None and node.inputs and node.inputs[0] is self.node and node.saved:
            # Taken of the value that the base holds now; and by an index, which then is an index into the base.
            pick = node.saved[0]
            if isinstance(pick, Pick):
                return pick
        return self.region_of(x._array)

    def note_retaining(self, member: Any) -> None:
        """``member`` may retain its gradient: its box must follow when another member is written."""
        if getattr(member, "_extra", None) is not None and member._extra.box is not None:
            others = [
                reference for reference in self.retaining or () if reference() is not None and reference() is not member
            ]
            self.retaining = [*others, weakref.ref(member)]


def group_of(x: Any) -> History:
    """The group of tensor ``x``, which becomes the base of one if it has none."""
    history: History | None = x._history
    if history is None:
        x._history = history = History(x)
        x._seen = 0
    return history


def reading(history: History, array: np.ndarray, op: Operation) -> Node:
    """A node for what ``array``, a view on the group's memory, shows of the value that the group has now."""
    return new_node(op, (history.node,), (history.region_of(array),), array.shape)


def current(x: Any) -> Node | None:
    """The node of the value that tensor ``x`` shows now. Only needed when ``x`` has a group."""
    history: History = x._history
    old: Node | None = x._node
    if x._seen == history.version:
        return old
    if history.node is None or x._array is history.base:
        node = history.node
    else:
        node = reading(history, x._array, READ)
    if old is not None:
        move_boxes(old, node)
    x._node, x._seen = node, history.version
    return node


def peek(x: Any) -> Node | None:
    """The node of the value that ``x`` shows; for a view that is out of date, its group's. Nothing changes."""
    history: History | None = x._history
    own: Node | None = x._node
    return own if history is None or x._seen == history.version else history.node


def wrote(x: Any, node: Node) -> None:
    """Tensor ``x``, which has a group, was overwritten with the value of ``node``: the group moves on."""
    history = x._history
    if x._array is history.base:
        history.node = node
    else:
        region = history.region_shown(x)
        place = node.code, node.instruction
        history.node = new_node(WRITE, (history.node, node), (region,), history.base.shape, place)
    history.version += 1
    if x._node is not None:
        move_boxes(x._node, node)
    x._node, x._seen = node, history.version
    if history.retaining is not None:
        follow_retaining(x)


def follow_retaining(x: Any) -> None:
    """The group of ``x`` was written through ``x``: the boxes of all its members move to their new values.

    ``x`` itself now reads the group's memory, so that its gradient passes the new value of the base.
    """
    history = x._history
    if x._array is not history.base:
        node = reading(history, x._array, READ)
        move_boxes(x._node, node)
        x._node = node
    for reference in history.retaining:
        member = reference()
        if member is not None and member._history is history:
            current(member)


def set_node(x: Any, node: Node) -> None:
    """Tensor ``x`` was overwritten with the value of ``node``."""
    if x._history is not None:
        wrote(x, node)
    else:
        if x._node is not None and x._node.hooks is not None:
            move_boxes(x._node, node)
        x._node = node


def become_leaf(x: Any, leaf: Leaf) -> None:
    """Tensor ``x``, which wants no gradient so far, becomes ``leaf``.

    If it shows all the memory of its group, the group becomes that leaf; if a part, it leaves the group.
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
    else:  # its shape or strides changed since it became the base of the group
        history.node = new_node(READ, (leaf,), (region_of(history.base, x._array),), history.base.shape)
    history.version += 1
    x._seen = history.version


def is_protected(x: Any) -> bool:
    """Whether ``x`` is a leaf that wants a gradient, or a view of one."""
    history = x._history
    if type(x._node) is Leaf and (history is None or x._seen == history.version):
        return True
    if history is None:
        return False
    node = history.node
    while node is not None and (node.op is RESHAPED or node.op is READ):
        node = node.inputs[0]
    return type(node) is Leaf


# ---------- the three operations that groups are made of ----------


def _read_backward(node: Node, g: np.ndarray) -> tuple[PartGradient]:
    (region,) = node.saved
    return (PartGradient(g, region, node.inputs[0].shape),)  # type: ignore[union-attr]  # recorded for this input


def _write_backward(node: Node, g: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    (region,) = node.saved
    part, rest = region.split(g)
    return (rest if node.inputs[0] is not None else None), part


def _write_owned(node: Node, g: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    (region,) = node.saved
    part = region.take(g)
    if part is None:
        return _write_backward(node, g)
    return (g if node.inputs[0] is not None else None), part


def _reshaped_backward(node: Node, g: np.ndarray) -> tuple[np.ndarray]:
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


def _reshaped_jvp(node: Node, _: int, u: np.ndarray) -> np.ndarray:
    (back,) = node.saved
    old = np.zeros((u.size,), u.dtype, like=u)
    old[like(back(np.arange(u.size).reshape(node.shape)).ravel(), u)] = u.ravel()
    return old.reshape(node.shape)


def repeated(u: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """``u`` broadcast to ``shape``, without leading dimensions of length 1 that are too many."""
    return np.broadcast_to(u.reshape(u.shape[max(u.ndim - len(shape), 0) :]), shape)


#: A view's part of the group's current value.
READ = Operation("read", _read_backward, jvp=_read_jvp)
#: The group's value after a write through a view that covers part of it.
WRITE = Operation("write", _write_backward, jvp=_write_jvp, owned=_write_owned)
#: What a leaf was before its shape was changed under ``no_grad``; inputs: the leaf it is now.
RESHAPED = Operation("reshaped", _reshaped_backward, jvp=_reshaped_jvp)


def reshape_leaf(x: Any, array: np.ndarray, back: Callable[[np.ndarray], np.ndarray]) -> None:
    """Give leaf ``x`` the shape and strides of ``array`` and let it stay a leaf.

    What was computed from the old leaf still sends gradients in the old shape; ``back`` gives them the new one.
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
