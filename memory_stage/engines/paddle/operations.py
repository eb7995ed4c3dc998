"""Observe the tensors of a call before and after Paddle's functions run, and emit the events of the call.

After each function, the observer finds the tensors whose versions were incremented, those whose cells have changed
although their versions have not, and the new nodes with the tensors that they saved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from memory_stage.engines import events
from memory_stage.engines.paddle import saved_table, tensor_access
from memory_stage.engines.paddle.entries import LEAF, GradientHandle, PaddleStorage, SaveRecord, TensorRecord
from memory_stage.engines.paddle.places import dense, indexed
from memory_stage.engines.paddle.shadow_state import ShadowState
from memory_stage.engines.protocol import CellLayout
from memory_stage.messages import Text, message

#: The largest tensor, in bytes, in which unversioned writes are found by comparing cells.
MOST_COMPARED = 1 << 20

#: In-place operations that overwrite nothing: they change only shape, strides or history.
_METADATA = frozenset(
    f"{name}_" for name in ("reshape", "squeeze", "unsqueeze", "flatten", "transpose", "t", "detach", "unflatten")
)

#: Functions that write zeros into gradients.
_CLEARING = frozenset(("clear_gradient", "_zero_grads"))


@dataclass
class TensorBefore:
    """The state of a tensor before a call.

    Attributes:
        node: the address of its node; 0 if it has none.
        is_registered: True if the tensor was registered before the call.
        cells: a copy of the elements, if unversioned writes are to be found; otherwise None.
    """

    x: Any
    record: TensorRecord
    storage: PaddleStorage
    layout: CellLayout
    version: int
    node: int
    is_registered: bool
    cells: np.ndarray | None = None


class InnerCall(NamedTuple):
    """The state before one function of Paddle runs inside a call of the program.

    Attributes:
        kinds: the kinds of its arguments, as :func:`saved_table.signature` returns them.
        tensors: the tensors among its arguments, by their paths.
        allocated: the bytes that Paddle's meter counts.
    """

    name: str
    kinds: str
    tensors: dict[str, TensorBefore]
    allocated: int


@dataclass
class OpenCall:
    """A running call of the program.

    Attributes:
        created: the tensors that each new node saved, by the address of the node.
        joined: the addresses of new nodes that already have an entry.
        not_in_table: True if the call used a function that the table does not contain.
        unversioned: tensors that were overwritten without incrementing the version, each with the name of the function.
        where: the index, if the call is an assignment to a part of a tensor.
        gradients: gradients that the call may set to zero, each with a copy of its bytes.
    """

    name: str
    inputs: list[TensorBefore]
    created: dict[int, list[SaveRecord]] = field(default_factory=dict)
    joined: set[int] = field(default_factory=set)
    not_in_table: bool = False
    unversioned: list[tuple[TensorBefore, str]] = field(default_factory=list)
    where: Any = None
    gradients: list[tuple[GradientHandle, bytes]] = field(default_factory=list)


class OperationObserver:
    """Compare the tensors of each call before and after it, and emit the events of the call.

    Attributes:
        used_elsewhere: True if another thread has called Paddle.
    """

    def __init__(self, state: ShadowState, paddle: Any, is_tensor: Callable[[Any], bool]) -> None:
        self._state, self._paddle, self._is_tensor = state, paddle, is_tensor
        self.used_elsewhere = False

    def tensors(self, value: Any) -> list[Any]:
        """Return the tensors among arguments or results, each once."""
        return list({id(x): x for _, x in saved_table.paths(value, self._is_tensor)}.values())

    # ---------- before ----------

    def begin(self, name: str, arguments: Any, keywords: Any) -> OpenCall:
        """Observe the tensors of a call of the program, before it runs."""
        self._omit_unrecorded()
        given = self.tensors([*arguments, *keywords.values()])
        call = OpenCall(name, [self._before(x) for x in given])
        for each in call.inputs:
            if not each.is_registered:
                self._state.emit(events.Discovery(each.x))
        if name == "setitem":
            call.where = arguments[1]
        if name in _CLEARING:
            found = [gradient for x in given if (gradient := self._state.gradient(x)) is not None]
            call.gradients = [(each, tensor_access.copied(each.tensor()).tobytes()) for each in found]
        return call

    def before(self, name: str, arguments: Any, keywords: Any) -> InnerCall:
        """Observe the tensors of one function of Paddle, before it runs."""
        kinds = saved_table.signature(arguments, keywords, self._is_tensor)
        found = saved_table.inputs(arguments, keywords, self._is_tensor)
        tensors = {path: self._before(x) for path, x in found.items()}
        for each in tensors.values():
            if each.storage.nbytes <= MOST_COMPARED:
                each.cells = tensor_access.copied(each.x)
        return InnerCall(name, kinds, tensors, self._state.meter())

    def _before(self, x: Any) -> TensorBefore:
        is_registered = self._state.is_registered(x)
        record = self._state.record(x)
        node = record.node.address if record.node is not None else 0
        layout = tensor_access.layout_of(x)
        return TensorBefore(x, record, record.memory, layout, x._inplace_version(), node, is_registered)

    # ---------- after one function ----------

    def after(self, call: OpenCall | None, inner: InnerCall, result: Any) -> None:
        """Register the results and the new nodes of a function, and find its unversioned writes."""
        if call is None:
            return
        outputs = dict(saved_table.paths(result, self._is_tensor))
        hidden = self._register_results(inner, outputs)
        self.find_unversioned(call, inner)
        old = {each.node for each in inner.tensors.values()}
        for x in [*outputs.values(), *(each.x for each in inner.tensors.values())]:
            fn = None if x.stop_gradient else x.grad_fn
            if fn is None or fn.node_ptr() in old or fn.node_ptr() in call.created or fn.name() == LEAF:
                continue
            roles = saved_table.saves(self._paddle.__version__, inner.name, fn.name(), inner.kinds)
            call.not_in_table = call.not_in_table or roles is None
            call.created[fn.node_ptr()] = self._saves(roles or [], inner, outputs, x, hidden)
            self._find_inner_nodes(call, fn, old)

    def _register_results(self, inner: InnerCall, outputs: dict[str, Any]) -> int:
        """Register the results of a function. Return the allocated bytes that belong to none of them."""
        inputs = {id(each.x) for each in inner.tensors.values()}
        addresses = {each.storage.address for each in inner.tensors.values()}
        hidden = self._state.meter() - inner.allocated
        for x in outputs.values():
            if id(x) not in inputs:
                base = tensor_access.base_of(x)
                fresh = base not in addresses and not self._is_shared(x, base)
                hidden -= self._state.register(x, fresh).memory.nbytes if fresh else 0
        return hidden

    def _find_inner_nodes(self, call: OpenCall, fn: Any, old: set[int]) -> None:
        """Add the other new nodes of a function to ``call.created``. They are ancestors of ``fn``."""
        todo = [fn]
        while todo:
            each = todo.pop()
            # the address belonged to an earlier node, which has been freed
            self._state.nodes.pop(each.node_ptr(), None)
            for other in each.next_functions:
                is_inner = other is not None and other.name() != LEAF
                if is_inner and other.node_ptr() not in old and other.node_ptr() not in call.created:
                    call.created[other.node_ptr()] = []
                    todo.append(other)

    def _is_shared(self, x: Any, base: int) -> bool:
        storage = self._state.storages.get(base)
        return storage is not None and any(
            other is not x and other._is_shared_buffer_with(x) for other in self._state.aliases_of(storage)
        )

    def _saves(
        self, roles: list[str], inner: InnerCall, outputs: dict[str, Any], result: Any, hidden: int
    ) -> list[SaveRecord]:
        """Return the tensors that a new node saved according to the table.

        Args:
            hidden: the bytes that the function allocated and that belong to no result.
        """
        found = []
        for role in roles:
            kind, _, path = role.partition(" ")
            each = inner.tensors.get(path)
            if kind == "in" and each is not None:
                save = SaveRecord(_argument_name(path), each.storage, each.layout, each.version, tensor=each.record.ref)
                found.append(save)
            elif kind == "copy" and each is not None and each.cells is not None:
                copy = self._state.add_hidden(each.cells.nbytes, each.cells, each.storage.dtype)
                hidden -= copy.nbytes
                found.append(SaveRecord(_argument_name(path), copy, dense(each.layout.shape), 0))
            elif kind == "out":
                x = outputs.get(path, result)
                record, layout = self._state.register(x), tensor_access.layout_of(x)
                found.append(SaveRecord("out", record.memory, layout, x._inplace_version(), tensor=record.ref))
        if "hidden" in roles and hidden > 0:
            mask = self._state.add_hidden(hidden, None, "uint8")
            found.append(SaveRecord(message("values of its own"), mask, dense([hidden]), 0))
        return found

    def find_unversioned(self, call: OpenCall | None, inner: InnerCall) -> None:
        """Find the tensors that a function overwrote without incrementing their versions."""
        if call is None:
            return
        for each in inner.tensors.values():
            if each.x._inplace_version() != each.version or not each.is_registered or each.cells is None:
                continue
            if not tensor_access.is_drawable(each.x) or tensor_access.base_of(each.x) != each.storage.address:
                continue
            now = tensor_access.copied(each.x)
            if now.shape == each.cells.shape and now.tobytes() != each.cells.tobytes():
                call.unversioned.append((each, inner.name))

    # ---------- after the call ----------

    def finish(self, call: OpenCall, result: Any) -> None:
        """Emit the events of a call that has returned ``result``."""
        self._emit_cleared(call)
        if call.name == "_share_buffer_to" and len(call.inputs) == 2:
            self._state.separate_counter(call.inputs[1].x)
        given = tuple(each.x for each in call.inputs)
        results = self.tensors(result)
        self._omit_undrawn(result)
        written = self._written_tensors(call, results)
        for x in [each.x for each in written] + results:
            self._join_nodes(call, x)
        self._emit_writes(call, written, given)
        self._emit_results(call, results, given)

    def fail(self, call: OpenCall, error: BaseException) -> None:
        """Emit the events of a call that has raised ``error``."""
        if "can't use inplace strategy" in str(error):
            self._state.emit(events.Refusal(error, "leaf_written"))
        for each, op in call.unversioned:
            self._state.emit(events.UnversionedWrite(each.x, op, None))

    def _emit_cleared(self, call: OpenCall) -> None:
        """Emit a write for each gradient that the call set to zero, because the program may still refer to it."""
        for gradient, before in call.gradients:
            tensor = gradient.tensor()
            if tensor is not None and tensor_access.copied(tensor).tobytes() != before:
                self._state.emit(events.UnversionedWrite(gradient, call.name, None))

    def _emit_writes(self, call: OpenCall, written: list[TensorBefore], given: tuple[Any, ...]) -> None:
        emit = self._state.emit
        for each in written:
            op = call.name if call.name.endswith("_") or call.name == "setitem" else f"{call.name}_"
            where = self._where(call, each)
            self._state.note_write(each.storage, (each.version, each.x._inplace_version()), where)
            self._state.record(each.x)
            emit(events.Write(each.x, op, given, where))
        for each in call.inputs:
            if tensor_access.is_drawable(each.x) and tensor_access.layout_of(each.x) != each.layout:
                self._state.record(each.x)
                emit(events.Relayout(each.x, call.name, given))
        for each, op in call.unversioned:
            if each.x._inplace_version() == each.version:
                emit(events.UnversionedWrite(each.x, op, None))

    def _emit_results(self, call: OpenCall, results: list[Any], given: tuple[Any, ...]) -> None:
        known = {id(x) for x in given}
        for x in results:
            if id(x) in known or not tensor_access.is_drawable(x):
                continue
            storage = self._state.record(x).memory
            base = next((each.x for each in call.inputs if each.storage is storage), None)
            if base is None:
                self._state.emit(events.Make(x, call.name, given))
            else:
                inputs = (base, *(other for other in given if other is not base))
                self._state.emit(events.MakeView(x, call.name, inputs))

    def _written_tensors(self, call: OpenCall, results: list[Any]) -> list[TensorBefore]:
        """Return a tensor for each storage that was written, if possible one that the call returned."""
        found: dict[int, TensorBefore] = {}
        returned = {id(x) for x in results}
        for each in call.inputs:
            if each.x._inplace_version() == each.version:
                continue
            key = id(each.storage)
            if key not in found or (id(each.x) in returned and id(found[key].x) not in returned):
                found[key] = each
        return list(found.values())

    def _join_nodes(self, call: OpenCall, x: Any) -> None:
        """Add one entry for all nodes that the call created, with all tensors that they saved."""
        fn = None if x.stop_gradient else x.grad_fn
        if fn is None or fn.node_ptr() not in call.created or fn.node_ptr() in call.joined:
            return
        region: dict[int, Any] = {}
        todo, outer = [fn], []
        while todo:
            each = todo.pop()
            if each is None or each.node_ptr() in region:
                continue
            if each.node_ptr() in call.created and each.node_ptr() not in call.joined:
                region[each.node_ptr()] = each
                todo += reversed(each.next_functions)
            else:
                outer.append(each)
        parents = [self._state.node(each) for each in outer]
        top = self._state.add_node(fn, call.name, parents)
        for address in region:
            self._state.nodes[address] = top
            top.saved += call.created[address]
        top.is_unknown = call.not_in_table
        call.joined |= region.keys()
        self._state.register(x).node = top  # keeps the entry alive, because ``nodes`` has only a weak reference

    def _where(self, call: OpenCall, each: TensorBefore) -> CellLayout | np.ndarray:
        """Return the cells that a write through a tensor covered."""
        if call.name in _METADATA:
            return np.empty(0, int)
        layout = tensor_access.layout_of(each.x)
        if call.where is None or each is not call.inputs[0]:
            return layout
        return indexed(layout, call.where, self._is_tensor)

    # ---------- parts that are not recorded ----------

    def _omit_unrecorded(self) -> None:
        if self.used_elsewhere:
            self._state.omit(
                message("Another thread calls Paddle, too. A stage shows only the thread that began the recording.")
            )
        if not self._paddle.in_dynamic_mode():
            self._state.omit(
                message("Paddle builds a static graph. Its variables have no numbers yet, so they are not shown.")
            )

    def _omit_undrawn(self, result: Any) -> None:
        for _, x in saved_table.paths(result, lambda value: isinstance(value, self._paddle.Tensor)):
            if not x.is_dense():
                self._state.omit(message("A sparse tensor has no cells to draw, so it is not shown."))
            elif x._is_initialized() and not x.place.is_cpu_place():
                self._state.omit(message("Tensors of Paddle on a GPU are not shown, only those in host memory."))


def _argument_name(path: str) -> Text:
    """Return words for the argument at a path: ``input 1``, or the keyword."""
    number = path.partition(".")[0]
    return message("input {number}", number=int(number) + 1) if number.isdigit() else number
