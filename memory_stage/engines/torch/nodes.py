"""Tag the nodes of torch's autograd, and read the tensors that they saved.

* A node of torch does not support weak references, and a strong reference keeps the graph alive. The node's dict
  ``metadata`` lives as long as the node does in C++, so the tag, a :class:`NodeTag`, is stored in this dict.
* One call may create several nodes, which share one tag.
* The saved tensors of a node are read right after the operation, without torch's check of versions. The tag stores only
  the storage, layout and version of each.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Sequence
from types import CodeType
from typing import Any

import torch

from memory_stage.engines.protocol import CellLayout, Role
from memory_stage.engines.torch.memory import Memory, VersionCounter, is_drawable, layout_of
from memory_stage.engines.torch.node_names import VIEWS, is_leaf, short_name
from memory_stage.engines.torch.node_tags import UNKNOWN_PLACE, NodeTag
from memory_stage.engines.torch.registry import Registry
from memory_stage.engines.torch.saved import Entry, attributes_of, is_custom, saved_in, touches

KEY = "memory_stage"
# if a call made several nodes, all but the result's node store their number under this key
INNER = "memory_stage.inner"

# if more nodes than this are untagged, they belong to an older graph, not to one call
MOST_IN_A_CALL = 40
MOST_TAGGED = 2_000  # the number of nodes of an older graph that are tagged at a time

_EXPECTED = re.compile(r"expected version (\d+) instead")


class Nodes:
    """The tags of one recording."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    # ---------- finding ----------

    def of(self, x: torch.Tensor, place: tuple[CodeType, int] = UNKNOWN_PLACE) -> NodeTag | None:
        """Return the tag of a tensor's node, or None. The node of an outdated view is that of its base."""
        if not x.requires_grad:
            return None
        fn = self.fn_of(x)
        if fn is not None:
            return self.at(fn, x.output_nr if self._is_up_to_date(x) else 0, place)
        if self._is_leaf(x):
            return self.leaf(x, place)
        if self._is_up_to_date(x) or self._registry.record(x).is_apart or x._base.grad_fn is not None:
            return None
        return self.leaf(x._base)

    def fn_of(self, x: torch.Tensor) -> Any:
        """Return a tensor's node; for an outdated view its base's node, because reading `grad_fn` would create one."""
        if not x._is_view():
            return x.grad_fn
        base = x._base
        if not base.requires_grad:
            return x.grad_fn
        record = self._registry.record(x)
        if record.current == x._version:
            try:
                fn = x.grad_fn
            except RuntimeError:  # `x` is one of several views made by one call, and their base was overwritten
                return None
            record.is_apart = fn is None
            return fn
        return None if record.is_apart else base.grad_fn

    def _is_up_to_date(self, x: torch.Tensor) -> bool:
        return not x._is_view() or not x._base.requires_grad or self._registry.record(x).current == x._version

    def _is_leaf(self, x: torch.Tensor) -> bool:
        return not (x._is_view() and x._base.requires_grad)

    def leaf(self, x: torch.Tensor, place: tuple[CodeType, int] = UNKNOWN_PLACE) -> NodeTag:
        """Return the tag of a leaf."""
        record = self._registry.record(x)
        if record.leaf is None:
            record.leaf = NodeTag(self._registry, "leaf", Role.LEAF, place)
        tag: NodeTag = record.leaf
        return tag

    def known(self, fn: Any) -> NodeTag | None:
        """Return the tag of a node; None if it has none."""
        tag: NodeTag | None = fn.metadata.get(KEY)
        return tag if tag is not None and tag.owner is self._registry else None

    def at(self, fn: Any, output: int = 0, place: tuple[CodeType, int] = UNKNOWN_PLACE) -> NodeTag:
        """Return the tag for a result of a node."""
        tag = self.known(fn)
        if tag is None:
            self._tag_all(fn, place)
            tag = self.known(fn)
            assert tag is not None
        inner = fn.metadata.get(INNER, 0)
        if inner:
            output = -inner
        if (inner or (output and tag.is_unreported)) and output not in tag.outputs:
            tag.outputs[output] = self._further(tag)
        return tag.outputs.get(output, tag)

    def _further(self, tag: NodeTag) -> NodeTag:
        """Return the tag of a further result of the same call."""
        other = NodeTag(self._registry, tag.name, Role.OPERATION, tag.place)
        other.parents, other.released = tag.parents, True
        return other

    def _tag_all(self, fn: Any, place: tuple[CodeType, int]) -> None:
        """Tag nodes whose calls were not observed. Each gets a separate tag, and parents are tagged first."""
        order: list[Any] = []
        todo, seen = [fn], {fn}
        while todo and len(order) < MOST_TAGGED:
            node = todo.pop()
            order.append(node)
            for parent, _ in node.next_functions:
                if parent is not None and parent not in seen and not is_leaf(parent) and self.known(parent) is None:
                    seen.add(parent)
                    todo.append(parent)
        for node in reversed(order):
            self._tag([node], "", place)

    def new_in(self, fn: Any) -> list[Any]:
        """Return the nodes that a call has just created: ``fn`` and its untagged ancestors; [] if too many."""
        fresh: list[Any] = []
        todo, seen = [fn], {fn}
        while todo:
            node = todo.pop()
            if is_leaf(node) or self.known(node) is not None:
                continue
            fresh.append(node)
            if len(fresh) > MOST_IN_A_CALL:
                return []
            for parent, _ in node.next_functions:
                if parent is not None and parent not in seen:
                    seen.add(parent)
                    todo.append(parent)
        return fresh

    # ---------- marking ----------

    def made(self, op: str, results: Sequence[torch.Tensor], place: tuple[CodeType, int], extra: list[Entry]) -> None:
        """Tag the nodes that a call created. If a node has several ``results``, each gets a tag."""
        fns: dict[Any, list[torch.Tensor]] = {}
        for x in results:
            fn = self.fn_of(x) if x.requires_grad else None
            if fn is not None:
                fns.setdefault(fn, []).append(x)
        for fn, of in fns.items():
            fresh = self.new_in(fn)
            if not fresh:
                continue
            tag = self._tag(fresh, op, place)
            for entry in extra:
                self._add_entry(tag, entry)
            if len(of) > 1 and not tag.moves:
                for x in of[1:]:
                    tag.outputs[x.output_nr] = self._further(tag)

    def _tag(self, nodes: list[Any], op: str, place: tuple[CodeType, int]) -> NodeTag:
        """Create a tag for ``nodes``, the first of which is the node of the result."""
        tag = NodeTag(self._registry, op or short_name(nodes[0].name()), Role.OPERATION, place)
        tag.size, tag.is_unreported = len(nodes), not op
        tag.moves = all(node.name() in VIEWS for node in nodes)
        tag.is_custom = is_custom(nodes[0])
        parents: list[NodeTag | None] = []
        for node in nodes:
            for parent, output in node.next_functions:
                if parent is None:
                    parents += [None] * (len(nodes) == 1)
                elif parent not in nodes:
                    parents.append(self.parent(parent, output))
        tag.parents = tuple(parents if len(nodes) == 1 else dict.fromkeys(parents))
        for number, node in enumerate(nodes):
            node.metadata[KEY] = tag
            if number:
                node.metadata[INNER] = number
        for node in nodes:
            for what, saved in saved_in(node):
                self._read(tag, what, saved)
            for what, x in attributes_of(node):
                self._read_attribute(tag, what, x)
        return tag

    def parent(self, fn: Any, output: int) -> NodeTag:
        """Return the tag of a parent node."""
        if not is_leaf(fn):
            return self.at(fn, output)
        x = fn.variable
        if self._registry.is_tensor(x):
            return self.leaf(x)
        return NodeTag(self._registry, "leaf", Role.LEAF, UNKNOWN_PLACE)

    def _read(self, tag: NodeTag, what: str, saved: Any) -> None:
        try:
            data = saved.data
        except RuntimeError:  # backward has released the tensor
            return
        if not isinstance(data, torch.Tensor) or not is_drawable(data):
            return
        registry = self._registry
        memory = registry.memory_at(data)
        if memory is None and data.dim() == 0 and data.dtype in (torch.float64, torch.int64, torch.bool):
            return  # a Python number, from which torch has made a tensor
        version: int = data._version
        memory = registry.register(data, is_new=True)
        counter = self._counter_of(data, memory, version)
        try:
            saved.unpack()
        except RuntimeError as error:  # the operation has overwritten the tensor that it saved
            found = _EXPECTED.search(str(error))
            version = int(found[1]) if found else version
        self._add_entry(tag, Entry(what, counter, layout_of(data), version))

    def _read_attribute(self, tag: NodeTag, what: str, x: torch.Tensor) -> None:
        """Add a tensor that a custom function stored as an attribute, unless the function has also saved it."""
        if not is_drawable(x):
            return
        memory = self._registry.register(x, is_new=True)
        counter, layout, version = self._counter_of(x, memory, x._version), layout_of(x), x._version
        if all((each.counter, each.layout, each.version) != (counter, layout, version) for each in tag.entries):
            self._add_entry(tag, Entry(what, counter, layout, version, is_compared=False))

    def _counter_of(self, data: torch.Tensor, memory: Memory, version: int) -> VersionCounter:
        """Return the counter of ``data`` or of a registered tensor at its address and version; else ``memory``."""
        if self._registry.is_registered(data):
            return self._registry.current_counter(data)
        if (alias := self._registry.counter_of(data)) is not None:
            return alias
        for record in list(self._registry.tensors.values()):
            if record.counter.memory is memory:
                x = record.ref()
                if x is not None and x._version == version and x.data_ptr() == data.data_ptr():
                    return record.counter
        return memory

    def _add_entry(self, tag: NodeTag, entry: Entry) -> None:
        tag.entries.append(entry)
        savers = entry.counter.memory.savers
        savers[:] = [ref for ref in savers if ref() is not None]
        savers.append(weakref.ref(entry))

    # ---------- writes ----------

    def written(self, counter: VersionCounter, cells: CellLayout | Any | None) -> None:
        """Mark the saved tensors that the last write to ``counter`` overwrote.

        Args:
            counter: the counter that the write incremented.
            cells: the written cells; None for all.
        """
        for ref in counter.memory.savers:
            entry = ref()
            if (
                entry is None
                or entry.lost
                or entry.is_read
                or entry.counter is not counter
                or entry.version >= counter.version
            ):
                continue
            if touches(entry.layout, cells):
                entry.lost = True
            else:
                entry.intact_version = counter.version
