"""The context of a user-defined operation (a *layer*): its forward uses it to save tensors and to announce writes.

While forward runs, a :class:`LayerCall` refers to the inputs. A guard node saves the inputs that require a gradient. As
for every saved tensor, a write to such an input replaces the version that was saved with it. This shows the call which
inputs were written without an announcement. After forward, only the node of the call refers to the context, and the
context refers to no tensor and to no node, so there is no reference cycle.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitensor.engine.autograd.higher_order import revived
from minitensor.engine.checks import shown
from minitensor.engine.core.history import LEAF, Node, Operation, new_node
from minitensor.engine.core.regions import lend, overlaps_itself, take_back
from minitensor.engine.core.storage import CallSite, write_that_made
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.device.arrays import restrided
from minitensor.engine.dtypes import FLOATS
from minitensor.engine.modes import modes
from minitensor.engine.operations.operands import check_target
from minitensor.engine.saved.in_place_inputs import own_input
from minitensor.engine.saved.saved import remember

#: The origin of a saved tensor is ("input", k), ("output", k) or one of these two.
CONSTANT, INTERMEDIATE = ("constant", 0), ("intermediate", 0)


#: The operation of a guard node. Like a leaf, a guard node sends no gradients.
GUARD = Operation("guard", LEAF.backward)


class LayerCall:
    """One call of a layer while its forward runs.

    Attributes:
        name: the name of the layer.
        inputs: the tensors among the arguments, in order.
        node: the call's node in the history; it saves tensors as soon as ``save_for_backward`` is called.
        recording: True if some input requires a gradient, in grad mode.
        versions: the versions of the inputs' storages when the call began.
        guard: a node that saves the inputs that require a gradient. A write that overwrites bytes of an input replaces
            the version in the guard's entry for this input.
        dirty: the inputs that were passed to ``mark_dirty``, each with the version of its storage at that time.
        saved: the arguments of ``save_for_backward``, each with its version at that time; None until it is called.
        constants: the outputs that were passed to ``mark_non_differentiable``.
        late_announcements: True if ``mark_dirty`` may be called after the write, as in PyTorch.
    """

    late_announcements = False

    def __init__(self, name: str, inputs: list[Tensor], node: Node, recording: bool) -> None:
        self.name, self.inputs, self.node, self.recording = name, inputs, node, recording
        self.versions = [x._storage.version for x in inputs]
        self.dirty: list[tuple[Tensor, int]] = []
        self.saved: list[tuple[Tensor | None, int]] | None = None
        self.constants: list[Tensor] = []
        self.guard = new_node(GUARD, (), (), (), (node.code, node.instruction))
        if recording:
            guarded = [x if n is not None else None for x, n in zip(inputs, node.inputs, strict=True)]
            self.guard.saved = tuple(None if x is None else _reference(x) for x in guarded)
            for x in guarded:
                if x is not None:
                    remember(x._storage, self.guard)

    def is_dirty(self, x: Tensor) -> bool:
        """True if ``mark_dirty`` announced a write into ``x``."""
        return any(x is announced for announced, _ in self.dirty)

    def position(self, x: Tensor) -> int | None:
        """Return the position of ``x`` among the inputs; None if it is not an input."""
        return next((k for k, each in enumerate(self.inputs) if each is x), None)

    def was_written(self, k: int) -> bool:
        """True if input ``k`` was written since the call began.

        If the guard has no entry for the input, or the input has no elements, any write to its storage counts. (A guard
        does not notice a write into a tensor without elements, because such a write overwrites nothing.)
        """
        x = self.inputs[k]
        if self.recording and self.guard.saved[k] is not None and x._array.size:
            _, storage, version = self.guard.saved[k]
            return storage is not x._storage or type(version) is not int
        return x._storage.version != self.versions[k]

    def mark_dirty(self, x: Tensor) -> None:
        """Announce a write into ``x``, or refuse it before anything is written."""
        k = self.position(x) if isinstance(x, Tensor) else None
        if k is None:
            raise ValueError(
                f"{self.name}: mark_dirty takes inputs of forward, but {_show(x)} is none of its "
                f"{len(self.inputs)} inputs"
            )
        if self.is_dirty(x):
            return
        late = self.was_written(k) and not self._shares_with_announced(x)
        if late and not self.late_announcements:
            raise RuntimeError(
                f"{self.name}: mark_dirty came after {written_by(x)} had written input {k}. Announce a write before "
                f"it happens: afterwards, the old values are lost, and the write can no longer be refused."
            )
        if self.recording and x._array.dtype in FLOATS:
            check_target(x, self.name)
        for i, (saved, version) in enumerate(self.saved or ()):
            if saved is x and version == x._storage.version:
                self._save_copy(i, x)
        self.dirty.append((x, self.versions[k] if late else x._storage.version))
        if self.recording:
            self.guard.saved = tuple(None if self.inputs[i] is x else entry for i, entry in enumerate(self.guard.saved))

    def _shares_with_announced(self, x: Tensor) -> bool:
        return any(
            x._storage is other._storage and np.may_share_memory(x._array, other._array) for other, _ in self.dirty
        )

    def save(self, tensors: tuple[Tensor | None, ...]) -> None:
        """Save tensors by reference; if forward overwrites one, the in-place policy decides whether it is copied."""
        for x in tensors:
            if x is not None and not isinstance(x, Tensor):
                raise TypeError(
                    f"{self.name}: save_for_backward takes tensors (or None), not {type(x).__name__}; "
                    f"keep anything else as an attribute, as in ctx.axis = axis"
                )
        self.saved = [(x, 0 if x is None else x._storage.version) for x in tensors]
        if not self.recording:
            return
        self.node.saved = tuple(None if x is None else _reference(x) for x in tensors)
        for i, x in enumerate(tensors):
            if x is not None:
                remember(x._storage, self.node)
                if any(x is other and x._storage.version == version for other, version in self.dirty):
                    self._save_copy(i, x)

    def _save_copy(self, i: int, x: Tensor) -> None:
        """Replace saved tensor ``i`` by a copy of ``x``, which forward is about to write."""
        if (
            self.recording and modes.policy != "copy_on_write"
        ):  # under copy_on_write, the write itself copies saved bytes
            entries = list(self.node.saved)
            entries[i] = own_input(self.name, x)
            self.node.saved = tuple(entries)

    def check(self, outputs: list[Tensor]) -> None:
        """Compare the writes that forward announced with those that happened.

        Raises:
            RuntimeError: if an input was written but not announced, announced but not written, or announced but not
                returned.
            ValueError: if a tensor that was passed to ``mark_non_differentiable`` is not an output.
        """
        for x, version in self.dirty:
            k = self.position(x)
            if not any(x is out for out in outputs):
                raise RuntimeError(
                    f"{self.name}: input {k} was announced by mark_dirty, but forward does not return it"
                )
            if x._storage.version == version:
                raise RuntimeError(f"{self.name}: input {k} was announced by mark_dirty, but forward did not write it")
        for k, x in enumerate(self.inputs):
            matters = (self.recording and self.node.inputs[k] is not None) or any(x is out for out in outputs)
            if matters and not (self.is_dirty(x) or self._shares_with_announced(x)) and self.was_written(k):
                raise RuntimeError(
                    f"{self.name}: forward wrote input {k} of shape {x.shape} (by {written_by(x)}) without announcing "
                    f"it. Call ctx.mark_dirty before the write and return the tensor, or write into a clone()."
                )
        for x in self.constants:
            if not any(x is out for out in outputs):
                raise ValueError(
                    f"{self.name}: mark_non_differentiable takes outputs of forward, but {_show(x)} is not one"
                )

    def source(self, i: int, outputs: list[Tensor]) -> tuple[str, int]:
        """Return the origin of saved tensor ``i``, which ``create_graph`` needs to find the node of this tensor."""
        x, version = self.saved[i]  # type: ignore[index]  # there is a saved tensor ``i``
        if x is None or x._array.dtype not in FLOATS:
            return CONSTANT
        k = self.position(x)
        announced = [at for other, at in self.dirty if other is x]
        if k is not None and (not announced or version <= announced[0]):
            return "input", k
        place = next((k for k, out in enumerate(outputs) if out is x), None)
        _, storage, now = self.node.saved[i]
        untouched = storage is x._storage and type(now) is int
        return ("output", place) if place is not None and untouched else INTERMEDIATE


def _reference(x: Tensor) -> tuple[np.ndarray, Any, int]:
    return x._array, x._storage, x._storage.version


def _show(x: Any) -> str:
    return f"a tensor of shape {x.shape}" if isinstance(x, Tensor) else f"{type(x).__name__}"


def written_by(x: Tensor) -> str:
    """Return the name and line of the last write into the memory of ``x``, or a general text if it was not logged."""
    write = write_that_made(x._storage, x._storage.version)
    if write is None:
        return "an in-place operation"
    op, code, instruction = write
    return f"`{op}`, {CallSite(code, instruction)}"


class PyLayerContext:
    """The ``ctx`` that passes state from forward to backward. Its attributes must not be inputs or outputs.

    In forward: :meth:`save_for_backward`, :meth:`mark_dirty`, :meth:`mark_non_differentiable`,
    :meth:`set_materialize_grads`. In backward: :meth:`saved_tensor`.
    """

    __slots__ = (
        "__dict__",
        "_call",
        "_node",
        "_recorded",
        "_layer",
        "_sources",
        "_inputs",
        "_outputs",
        "_materializes",
        "_lent_arrays",
    )

    _call: LayerCall | None
    _inputs: Any
    _outputs: Any

    def __init__(self, layer: Any, call: LayerCall) -> None:
        self._layer, self._call = layer, call
        self._node: Node | None = None
        self._recorded = False
        self._materializes = True
        self._lent_arrays: list[np.ndarray] = []
        self._sources: tuple[tuple[str, int], ...] = ()

    def _running_call(self, what: str) -> LayerCall:
        if self._call is None:
            raise RuntimeError(f"{self._layer.__name__}: ctx.{what} may only be called in forward")
        return self._call

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Save tensors for backward by reference. The engine detects later writes into them.

        Call it in forward; only the last call has an effect. For an input that forward overwrites, call it before the
        write. The in-place policy then decides: "2.5" refuses the write, "2.6" copies the input, and under
        "copy_on_write" the write preserves the input's bytes.

        Raises:
            RuntimeError: outside forward.
            TypeError: for anything but tensors and None.
            ValueError: under "2.5", if forward overwrites the tensor.
        """
        self._running_call("save_for_backward").save(tensors)

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Announce that forward is about to write these inputs in place; forward must return them.

        Call it before the write. ``apply`` then returns the same tensor object, with the layer as its new history.

        Raises:
            ValueError: for a leaf that requires a gradient, for a view of one, and for a tensor that is not an input.
            RuntimeError: outside forward, or if the write has already happened.
        """
        call = self._running_call("mark_dirty")
        for x in tensors:
            call.mark_dirty(x)

    def mark_not_inplace(self, *tensors: Tensor) -> None:
        """Do nothing. In Paddle, this declares that a returned input was not written. minitensor needs no declaration,
        because it always returns a copy of such an input.

        Raises:
            RuntimeError: outside forward.
        """
        self._running_call("mark_not_inplace")

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Mark outputs that get no gradient. Outputs of integers or bools never get one.

        Raises:
            TypeError: for anything but tensors.
            RuntimeError: outside forward.
        """
        call = self._running_call("mark_non_differentiable")
        for x in tensors:
            if not isinstance(x, Tensor):
                raise TypeError(f"{call.name}: mark_non_differentiable takes tensors, not {type(x).__name__}")
            call.constants.append(x)

    def set_materialize_grads(self, value: bool) -> None:
        """Choose the argument of backward for an output that got no gradient: zeros if ``value`` is True, else None.

        Raises:
            TypeError: if ``value`` is not a bool.
            RuntimeError: outside forward.
        """
        self._running_call("set_materialize_grads")
        if not isinstance(value, bool):
            raise TypeError(f"{self._layer.__name__}: set_materialize_grads takes True or False, not {shown(value)}")
        self._materializes = value

    def saved_tensor(self) -> tuple[Tensor | None, ...]:
        """Return the saved tensors (or None), with the values that they had in forward. The tensors are read-only.

        Under ``create_graph``, they also have the history that they had in forward.

        Raises:
            RuntimeError: outside backward; if a saved tensor was overwritten; or, under ``create_graph``, if a saved
                tensor of floats is neither an input nor an output of forward, because its dependence on the inputs was
                not recorded.
        """
        node = self._node
        if node is None:
            raise RuntimeError(f"{self._layer.__name__}: ctx.saved_tensor() may only be called in backward")
        return tuple(self._lend(node, i, source) for i, source in enumerate(self._sources))

    def _lend(self, node: Node, i: int, source: tuple[str, int]) -> Tensor | None:
        saved = node.saved[i]
        if saved is None:
            return None
        if self._recorded and source is INTERMEDIATE:
            raise RuntimeError(
                f"{node.op.name}: saved tensor {i} is neither input nor output of forward, so how it depends on the "
                f"inputs is not known, and create_graph needs it. Save inputs or outputs and compute the rest in "
                f"backward; or, if it depends on no input, set it as an attribute, as in ctx.mask = mask."
            )
        x = revived(node, f"saved tensor {i}", saved, self._history(node, source) if self._recorded else None)
        if type(x._array) is np.ndarray:
            # Views of the tensor must be read-only, too. If an array overlaps itself, `unlock` could make views of it
            # writeable, but not views of the array that `restrided` returns.
            array = x._array
            x._array = restrided(array, array.shape, array.strides) if overlaps_itself(array) else array.view()
            x._array.flags.writeable = False
        else:
            lend(x._array)
            self._lent_arrays.append(x._array)
        return x

    def _unlock_saved(self) -> None:
        """Make saved tensors on a GPU writeable again after the layer's backward."""
        while self._lent_arrays:
            take_back(self._lent_arrays.pop())

    def _history(self, node: Node, source: tuple[str, int]) -> Node | None:
        kind, k = source
        if kind == "input":
            return node.inputs[k]
        return self._outputs[k].node(node) if kind == "output" else None
