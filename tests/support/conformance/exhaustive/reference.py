"""The reference: memory cells that contain a number and its derivatives, and a record of the values that backward
needs.

A tensor consists of three numpy arrays over the same cells: the positions of the cells in the storage, their values,
and their tangents. The last dimension of the tangents has the derivatives with respect to every element of every leaf.
A view has numpy views of the three arrays. Aliases therefore work as in numpy, without rules about views and overlaps.
A detached alias shares positions and values and has separate tangents. The reference shares nothing with the engine,
and it derives every refusal from the values that the derivative of a statement needs and from the cells that were
written afterwards.

A ``World`` has all the names that the statements of ``alphabet.py`` use from the engine, so it can replace the engine.
"""

from __future__ import annotations

import numpy as np

from .saved import LEAF, OWN_INPUT, SHAPE, Reason, Refused, Saved, Storage, Write, line_at_hand

LEAVES = slice(0, 4), slice(4, 6)  # the positions of the derivatives with respect to a and to b
OPENED = slice(6, 10)  # those with respect to the leaf that a program may create on existing memory
DIRECTIONS = 10
IDENTITY = {shape: np.eye(int(np.prod(shape))).reshape(*shape, -1) for shape in ((2,), (2, 2))}

OUT = -1  # represents the result in sets of operands that a derivative needs


# ---- the meaning of operations ---------------------------------------------------------------------------------------


def _tanh(v):
    out = np.tanh(v)
    return out, 1 - out * out


# Maps a name to a function that returns value and slope, and to the operands that the derivative needs.
FUNCTIONS = {
    "sin": (lambda v: (np.sin(v), np.cos(v)), {0}),
    "tanh": (_tanh, {OUT}),
    "scale": (lambda v, factor: (v * factor, np.full_like(v, factor)), set()),
    "fill": (lambda v, number: (np.full_like(v, number), np.zeros_like(v)), set()),
}


def evaluate(name: str, operands: list[Tensor], wants: list[bool], parameters: tuple) -> tuple:
    """Return the value, its tangents, and the operands (or ``OUT``) that the derivative needs for the wanted
    gradients.
    """
    x = operands[0].values
    if name in FUNCTIONS:
        function, needs = FUNCTIONS[name]
        value, slope = function(x, *parameters)
        return value, slope[..., None] * operands[0].tangents if wants[0] else 0.0, needs if wants[0] else set()
    y = operands[1].values
    xt = operands[0].tangents if wants[0] else 0.0
    yt = operands[1].tangents if wants[1] else 0.0
    if name == "add":
        return x + y, xt + yt, set()
    if name == "copy":
        return y.copy(), yt + 0.0, set()  # copied before the write changes it
    return x * y, xt * y[..., None] + yt * x[..., None], {other for other in (0, 1) if wants[1 - other]}


class Record:
    """One recorded statement: its saved tensors, and the records of its operands."""

    __slots__ = ("parents", "saves")

    def __init__(self, parents: list[Record], saves: list[Saved]) -> None:
        self.parents, self.saves = parents, saves


class Group:
    """Tensors that share tangents. ``record`` is None while they need no gradient. A leaf's record has no parents."""

    __slots__ = ("record", "is_leaf")

    def __init__(self, record: Record | None = None, is_leaf: bool = False) -> None:
        self.record, self.is_leaf = record, is_leaf


class World:
    """One run of one program: its modes and its tensors."""

    def __init__(self) -> None:
        self.policy, self.grad_enabled = "2.6", True
        self.lenient = False  # True if the engine continued where a refusal is allowed but not required
        self.may_hold = 0  # bytes that the current statement may allocate and keep
        self.opened = 0  # number of leaves
        self.tangents: list[np.ndarray] = []  # tangents of every group
        self.arrived = np.zeros(DIRECTIONS)  # gradients of the leaves after backward

    # ---- vocabulary --------------------------------------------------------------------------------------------------

    def set_inplace_policy(self, name: str) -> None:
        self.policy = name

    def no_grad(self) -> World:
        return self

    def __enter__(self) -> None:
        self.grad_enabled = False

    def __exit__(self, *_) -> None:
        self.grad_enabled = True

    def to_tensor(self, data, dtype="float64", stop_gradient=True) -> Tensor:
        tensor = self.fresh(np.array(data, dtype))
        if not stop_gradient:
            self.open(tensor, LEAVES[self.opened])
        return tensor

    def grad(self, outputs, inputs, grad_outputs, retain_graph, allow_unused) -> list[Tensor]:
        """Return the derivatives of the weighted sum of the outputs with respect to the leaves ``inputs``."""
        derivative = self.differentiate(outputs, grad_outputs)
        return [self.number(derivative[leaf.directions].reshape(leaf.values.shape)) for leaf in inputs]

    def differentiate(self, outputs: list[Tensor], weights: list[Tensor]) -> np.ndarray:
        stale = [saved for saved in self.saved_for(outputs) if saved.harm and not (self.lenient and saved.preserved)]
        if stale:
            raise Refused(stale)
        parts = zip(outputs, weights, strict=True)
        return sum(w.values.ravel() @ x.tangents.reshape(-1, DIRECTIONS) for x, w in parts)

    def saved_for(self, outputs: list[Tensor]) -> list[Saved]:
        """Return every saved tensor on the paths from the outputs to the leaves."""
        stack = [x.group.record for x in outputs]
        seen = set(stack)
        while stack:
            for parent in stack.pop().parents:
                if parent not in seen:
                    seen.add(parent)
                    stack.append(parent)
        return [saved for record in seen for saved in record.saves]

    # ---- tensors -----------------------------------------------------------------------------------------------------

    def fresh(self, values: np.ndarray, tangents=0.0) -> Tensor:
        """Return a tensor on a new storage."""
        own = np.zeros((*values.shape, DIRECTIONS))
        own[...] = tangents
        cells = np.arange(values.size).reshape(values.shape)
        return Tensor(self, Storage(), self.group(own), cells, values, own)

    def make_view(self, tensor: Tensor, pick) -> Tensor:
        """Return a view in the same group as ``tensor``, or a detached alias if ``tensor`` needs a gradient and the
        view is taken under no_grad.
        """
        seen = Tensor(
            self, tensor.storage, tensor.group, pick(tensor.cells), pick(tensor.values), pick(tensor.tangents)
        )
        return seen if self.grad_enabled or tensor.stop_gradient else self.alias(seen)

    def alias(self, tensor: Tensor) -> Tensor:
        """Return a detached alias: the first tensor of another group on the same memory."""
        tangents = np.zeros(tensor.tangents.shape)
        return Tensor(self, tensor.storage, self.group(tangents), tensor.cells, tensor.values, tangents)

    def number(self, values: np.ndarray) -> Tensor:
        """Return a constant tensor, which is never written and has no gradient."""
        return Tensor(self, Storage(), Group(), None, values, None)

    def group(self, tangents: np.ndarray) -> Group:
        self.tangents.append(tangents)
        return Group()

    def open(self, tensor: Tensor, directions: slice) -> None:
        """Make ``tensor`` a leaf. From now on the reference also differentiates with respect to its elements."""
        if directions is OPENED:
            for tangents in self.tangents:
                tangents[..., directions] = 0  # derivatives with respect to an earlier leaf, which has no name any more
            self.arrived[directions] = 0
        cells = range(directions.start, directions.start + tensor.values.size)
        tensor.tangents[..., cells.start : cells.stop] = IDENTITY[tensor.values.shape]
        tensor.directions = slice(cells.start, cells.stop)
        tensor.group.record, tensor.group.is_leaf = Record([], []), True
        self.opened += 1

    # ---- operations --------------------------------------------------------------------------------------------------

    def wants(self, tensor: Tensor) -> bool:
        return self.grad_enabled and tensor.group.record is not None

    def normal(self, name: str, *operands: Tensor) -> Tensor:
        wants = [self.wants(x) for x in operands]
        values, tangents, needs = evaluate(name, operands, wants, ())
        out = self.fresh(values, tangents)
        if True in wants:
            saves = [self.save(i, operands, out) for i in needs]
            out.group.record = Record([x.group.record for x in operands if self.wants(x)], saves)
        return out

    def save(self, i: int, operands, out: Tensor) -> Saved:
        which = "output" if i == OUT else "input" if len(operands) == 1 else ("first input", "second input")[i]
        return Saved(which, out if i == OUT else operands[i])

    def in_place(self, name: str, target: Tensor, operands: list[Tensor], parameters: tuple = ()) -> Tensor:
        """Apply ``name`` to ``operands`` and write the result into ``target``, or refuse before any write."""
        wants = [self.wants(x) for x in operands]
        values, tangents, needs = evaluate(name, operands, wants, parameters)
        # The write itself overwrites these operands. The operation copies them first, or is refused under policy "2.5".
        taken = {i for i in needs if i != OUT and operands[i].overlaps(target)}
        reasons = self.unwritable(target)
        reasons += [SHAPE] * (values.ndim > target.values.ndim)  # all other shapes in the alphabet fit
        reasons += [OWN_INPUT] * bool(taken and self.policy == "2.5")
        if reasons:
            raise Refused(reasons)
        self.may_hold = sum(operands[i].values.nbytes for i in taken)
        if self.policy == "copy_on_write" and 0 not in taken:  # a copy of the target preserves all its values already
            # The engine preserves cells with their positions (four bytes each), or the whole target if that is less.
            needed = target.storage.needed(target.cells) * (target.values.itemsize + 4)
            self.may_hold += min(needed, target.values.nbytes)
        self.write(target, values, tangents, True in wants)
        if True in wants:
            saves = [self.save(i, operands, target) for i in needs - taken]
            before = [target.group.record] if target.group.record is not None else []
            target.group.record = Record([*before, *(x.group.record for x in operands[1:] if self.wants(x))], saves)
        return target

    def unwritable(self, target: Tensor) -> list[Reason]:
        return [LEAF] * (self.grad_enabled and target.group.is_leaf)

    def write(self, target: Tensor, values, tangents, recorded: bool) -> None:
        target.storage.writes.append(Write(line_at_hand(), target.cells, self.policy != "copy_on_write"))
        target.values[...] = values
        if recorded:
            target.tangents[...] = tangents


class Tensor:
    """Some cells of a storage: their positions, values and tangents, as described at the top of this file."""

    __slots__ = ("world", "storage", "group", "cells", "values", "tangents", "directions")

    def __init__(self, world: World, storage: Storage, group: Group, cells, values, tangents) -> None:
        self.world, self.storage, self.group = world, storage, group
        self.cells, self.values, self.tangents = cells, values, tangents

    def numpy(self) -> np.ndarray:
        return self.values

    @property
    def inplace_version(self) -> int:
        return len(self.storage.writes)

    @property
    def grad(self) -> Tensor:
        return self.world.number(self.world.arrived[self.directions].reshape(self.values.shape))

    @property
    def stop_gradient(self) -> bool:
        return self.group.record is None

    @stop_gradient.setter
    def stop_gradient(self, stop: bool) -> None:
        if self.stop_gradient:
            self.world.open(self, OPENED)

    def overlaps(self, other: Tensor) -> bool:
        return self.storage is other.storage and np.shares_memory(self.values, other.values)

    # ---- aliases -----------------------------------------------------------------------------------------------------

    def __getitem__(self, index) -> Tensor:
        return self.world.make_view(self, lambda array: array[index])

    def t(self) -> Tensor:
        return self.world.make_view(self, lambda array: array.swapaxes(0, 1))

    def t_(self) -> Tensor:
        self.cells, self.values = self.cells.T, self.values.T
        self.tangents = self.tangents.swapaxes(0, 1)
        return self

    def detach(self) -> Tensor:
        return self.world.alias(self)

    # ---- operations --------------------------------------------------------------------------------------------------

    def backward(self, retain_graph: bool) -> None:
        ones = self.world.number(np.ones(self.values.shape))
        self.world.arrived += self.world.differentiate([self], [ones])

    def __mul__(self, other: Tensor) -> Tensor:
        return self.world.normal("multiply", self, other)

    def sin(self) -> Tensor:
        return self.world.normal("sin", self)

    def tanh(self) -> Tensor:
        return self.world.normal("tanh", self)

    def add_(self, other: Tensor) -> Tensor:
        return self.world.in_place("add", self, [self, other])

    def multiply_(self, other: Tensor) -> Tensor:
        return self.world.in_place("multiply", self, [self, other])

    def sin_(self) -> Tensor:
        return self.world.in_place("sin", self, [self])

    def tanh_(self) -> Tensor:
        return self.world.in_place("tanh", self, [self])

    def scale_(self, factor: float) -> Tensor:
        return self.world.in_place("scale", self, [self], (factor,))

    def fill_(self, value: float) -> Tensor:
        return self.world.in_place("fill", self, [self], (value,))

    def copy_(self, other: Tensor) -> Tensor:
        return self.world.in_place("copy", self, [self, other])

    def __setitem__(self, index, other) -> None:
        target = self[index]
        if not isinstance(other, Tensor):
            other = self.world.number(np.array(other))
        self.world.in_place("copy", target, [target, other])
