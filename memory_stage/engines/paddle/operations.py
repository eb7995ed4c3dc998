"""Follows the calls of Paddle's functions, and tells what each did to memory.

A call of the program's is one operation, however many functions of Paddle it takes. Each of these is looked at before
and after: whose version has risen, whose cells have changed without one, which nodes are new, and what they saved.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from memory_stage.engines import events
from memory_stage.engines.paddle import saved_table, tensor_access
from memory_stage.engines.paddle.calls import Before, Call, Calls
from memory_stage.engines.paddle.entries import LEAF, Kept
from memory_stage.engines.paddle.places import dense, indexed, meet
from memory_stage.engines.protocol import Layout

#: Of a tensor of more bytes it is not compared whether an operation changed it that raises no version.
MOST_COMPARED = 1 << 20

#: Operations in place that write no cell: they change shape and strides.
_METADATA = frozenset(
    f"{name}_" for name in ("reshape", "squeeze", "unsqueeze", "flatten", "transpose", "t", "detach", "unflatten")
)


#: They set gradients to zero, in their memory.
_CLEARING = frozenset(("clear_gradient", "_zero_grads"))


class Operations(Calls):
    """Told of by ``tell`` of the books, while they are listened to."""

    # ---------- before ----------

    def _begun(self, name: str, arguments: Any, keywords: Any) -> Call:
        self._name_unrecorded(name)
        given = self.tensors([*arguments, *keywords.values()])
        call = Call(name, [self._look(x) for x in given])
        for each in call.inputs:
            if not each.known:
                self.books.emit(events.Discovery(each.x))
        if name == "setitem":
            call.where = arguments[1]
        if name in _CLEARING:
            found = [gradient for x in given if (gradient := self.books.gradient(x)) is not None]
            call.gradients = [(each, tensor_access.copied(each.real()).tobytes()) for each in found]
        return call

    def _look(self, x: Any) -> Before:
        known = self.books.is_known(x)
        note = self.books.note(x)
        node = note.node.address if note.node is not None else 0
        return Before(x, note, note.memory, tensor_access.layout_of(x), x._inplace_version(), node, known)

    def _before(self, arguments: Any, keywords: Any) -> dict[str, Before]:
        found = saved_table.inputs(arguments, keywords, self.is_tensor)
        looks = {path: self._look(x) for path, x in found.items()}
        for each in looks.values():
            if each.memory.nbytes <= MOST_COMPARED:
                each.cells = tensor_access.copied(each.x)
        return looks

    # ---------- after one function ----------

    def _after(self, name: str, kinds: str, before: dict[str, Before], result: Any, counted: int) -> None:
        call = self.call
        if call is None:
            return
        inputs = {id(each.x): each for each in before.values()}
        allocated = {id(each.memory): each.memory for each in before.values()}
        outputs = dict(saved_table.paths(result, self.is_tensor))
        grown = self.books.meter() - counted
        for x in outputs.values():
            if id(x) not in inputs:
                base = tensor_access.base_of(x)
                shared = any(memory.address == base for memory in allocated.values())
                fresh = not shared and not self._is_shared(x, base)
                grown -= self.books.meet(x, fresh).memory.nbytes if fresh else 0
        self._changed(name, before)
        old = {each.node for each in before.values()}
        for x in [*outputs.values(), *(each.x for each in before.values())]:
            real = None if x.stop_gradient else x.grad_fn
            if real is None or real.node_ptr() in old or real.node_ptr() in call.fresh or real.name() == LEAF:
                continue
            roles = saved_table.saves(self.paddle.__version__, name, real.name(), kinds)
            if roles is None:
                call.unknown.append(name)
            call.fresh[real.node_ptr()] = self._kept(roles or [], before, outputs, x, grown)
            todo = [real]
            while todo:  # some functions make several nodes: the others are further in
                each = todo.pop()
                self.books.nodes.pop(each.node_ptr(), None)  # what had this address before is gone
                for other in each.next_functions:
                    inner = other is not None and other.name() != LEAF
                    if inner and other.node_ptr() not in old and other.node_ptr() not in call.fresh:
                        call.fresh[other.node_ptr()] = []
                        todo.append(other)

    def _is_shared(self, x: Any, base: int) -> bool:
        memory = self.books.memories.get(base)
        return memory is not None and any(
            other is not x and other._is_shared_buffer_with(x) for other in self.books.aliases_of(memory)
        )

    def _kept(
        self, roles: list[str], before: dict[str, Before], outputs: dict[str, Any], made: Any, grown: int
    ) -> list[Kept]:
        """What a new node saved, as the table says; ``grown``: bytes of the call that no result accounts for."""
        found = []
        for role in roles:
            kind, _, path = role.partition(" ")
            each = before.get(path)
            if kind == "in" and each is not None:
                found.append(Kept(_what(path), each.memory, each.layout, each.version, of=each.note.ref))
            elif kind == "copy" and each is not None and each.cells is not None:
                copy = self.books.hidden(each.cells.nbytes, each.cells, each.memory.dtype)
                grown -= copy.nbytes
                found.append(Kept(_what(path), copy, dense(each.layout.shape), 0))
            elif kind == "out":
                x = outputs.get(path, made)
                note = self.books.meet(x)
                found.append(Kept("out", note.memory, tensor_access.layout_of(x), x._inplace_version(), of=note.ref))
        if "hidden" in roles and grown > 0:
            mask = self.books.hidden(grown, None, "uint8")
            found.append(Kept("values of its own", mask, dense([grown]), 0))
        return found

    def _changed(self, name: str, before: dict[str, Before]) -> None:
        """Which tensors were overwritten although no version says so."""
        call = self.call
        if call is None:
            return
        for each in before.values():
            if each.x._inplace_version() != each.version or not each.known or each.cells is None:
                continue
            if not tensor_access.is_drawable(each.x) or tensor_access.base_of(each.x) != each.memory.address:
                continue
            now = tensor_access.copied(each.x)
            if now.shape == each.cells.shape and now.tobytes() != each.cells.tobytes():
                call.unseen.append((each, name))

    # ---------- after the call ----------

    def _emit_cleared(self, call: Call) -> None:
        """Gradients were set to zero where they lie: whoever took one before has zeros now."""
        for gradient, numbers in call.gradients:
            real = gradient.real()
            if real is not None and tensor_access.copied(real).tobytes() != numbers:
                gradient.memory.unseen += 1
                self.books.emit(events.UnversionedWrite(gradient, call.name, None))

    def _emit_all(self, call: Call, result: Any) -> None:
        self._emit_cleared(call)
        if call.name == "_share_buffer_to" and len(call.inputs) == 2:
            self.books.counts_apart(call.inputs[1].x)
        emit, given = self.books.emit, [each.x for each in call.inputs]
        results = self.tensors(result)
        self._name_undrawn(result)
        written = self._written(call, results)
        for x in [each.x for each in written] + results:
            self._join_nodes(call, x)
        known = {id(each.x) for each in call.inputs}
        for each in written:
            op = call.name if call.name.endswith("_") or call.name == "setitem" else f"{call.name}_"
            where = self._where(call, each)
            self._lose(each, where)
            self.books.note(each.x)
            emit(events.Write(each.x, op, tuple(given), where))
        for each in call.inputs:
            if tensor_access.is_drawable(each.x) and tensor_access.layout_of(each.x) != each.layout:
                self.books.note(each.x)
                emit(events.Relayout(each.x, call.name, tuple(given)))
        for each, op in call.unseen:
            if each.x._inplace_version() == each.version:
                each.memory.unseen += 1
                emit(events.UnversionedWrite(each.x, op, None))
        for x in results:
            if id(x) in known or not tensor_access.is_drawable(x):
                continue
            memory = self.books.note(x).memory
            base = [each.x for each in call.inputs if each.memory is memory]
            if base:
                emit(events.MakeView(x, call.name, (base[0], *(other for other in given if other is not base[0]))))
            else:
                emit(events.Make(x, call.name, tuple(given)))

    def _written(self, call: Call, results: list[Any]) -> list[Before]:
        """Through which tensors memory was written: of several on one storage, the one that came back."""
        found: dict[int, Before] = {}
        back = {id(x) for x in results}
        for each in call.inputs:
            if each.x._inplace_version() == each.version:
                continue
            if id(each.memory) not in found or (id(each.x) in back and id(found[id(each.memory)].x) not in back):
                found[id(each.memory)] = each
        return list(found.values())

    def _join_nodes(self, call: Call, x: Any) -> None:
        """All nodes that one call made are told as one, with all that they saved."""
        real = None if x.stop_gradient else x.grad_fn
        if real is None or real.node_ptr() not in call.fresh or real.node_ptr() in call.joined:
            return
        region: dict[int, Any] = {}
        todo, outer = [real], []
        while todo:
            each = todo.pop()
            if each is None or each.node_ptr() in region:
                continue
            if each.node_ptr() in call.fresh and each.node_ptr() not in call.joined:
                region[each.node_ptr()] = each
                todo += reversed(each.next_functions)
            else:
                outer.append(each)
        parents = [self.books.node(each) for each in outer]
        top = self.books.add(real, call.name, parents)
        for address in region:
            self.books.nodes[address] = top
            top.saved += call.fresh[address]
        top.unknown = bool(call.unknown)
        call.joined |= region.keys()
        self.books.meet(x).node = top  # which holds it: the books of nodes do not

    def _where(self, call: Call, each: Before) -> Layout | np.ndarray:
        """Which cells a write through a tensor covered."""
        if call.name in _METADATA:
            return np.empty(0, int)
        layout = tensor_access.layout_of(each.x)
        if call.where is None or each is not call.inputs[0]:
            return layout
        return indexed(layout, call.where, self.is_tensor)

    def _lose(self, each: Before, where: Layout | np.ndarray) -> None:
        """A write that Paddle counts has met cells that somebody saved."""
        for node in {id(node): node for node in list(self.books.nodes.values())}.values():
            for kept in node.saved:
                if kept.memory is each.memory and kept.version < each.x._inplace_version():
                    kept.lost = kept.lost or meet(kept.layout, where)

    def _refused(self, call: Call, error: BaseException) -> None:
        if "can't use inplace strategy" in str(error):
            self.books.emit(events.Refusal(error, "leaf_written"))
        for each, op in call.unseen:
            each.memory.unseen += 1
            self.books.emit(events.UnversionedWrite(each.x, op, None))


def _what(path: str) -> str:
    """``input 1``."""
    number = path.partition(".")[0]
    return f"input {int(number) + 1}" if number.isdigit() else number
