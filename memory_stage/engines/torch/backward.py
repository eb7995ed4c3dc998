"""Observe torch's backward, node by node.

``Tensor.backward``, ``torch.autograd.backward`` and ``torch.autograd.grad`` all call one function of torch. This
module patches it, so that every node has hooks during backward. The hooks read gradients and keep none.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from memory_stage.engines import events
from memory_stage.engines.framework import Patches
from memory_stage.engines.torch.cuda import is_capturing
from memory_stage.engines.torch.memory import elements_of, is_drawable, muted
from memory_stage.engines.torch.node_hooks import AfterLeaf, AfterNode, BeforeNode, call_after_leaf
from memory_stage.engines.torch.node_names import is_leaf
from memory_stage.engines.torch.node_tags import NodeTag
from memory_stage.engines.torch.nodes import Nodes
from memory_stage.engines.torch.registry import Registry
from memory_stage.engines.torch.threads import remove_mode
from memory_stage.engines.torch.user_hooks import UserHooks

_STALE = "modified by an inplace operation"


class _Part:
    """A call of the forward pass. Backward has begun to run its node or nodes."""

    def __init__(self, pending: int, gradient: np.ndarray) -> None:
        self.pending, self.gradient = pending, gradient  # the number of its nodes that have not run
        self.sent: list[tuple[NodeTag, np.ndarray]] = []


class Backward:
    """The patch of torch's backward."""

    def __init__(self, registry: Registry, nodes: Nodes, mode: Any, emit: events.Listener) -> None:
        self._registry, self._nodes, self._mode, self._emit = registry, nodes, mode, emit
        self._patches = Patches()
        self._thread = threading.get_ident()
        self.hooks = UserHooks(registry, nodes, mode, self._settle, self.register_received)
        self._passes: list[_Pass] = []
        self._in_flight: dict[int, tuple[int, Any]] = {}

    def patch(self) -> None:
        """Replace torch's function."""
        self._mode.hooks = self.hooks
        self._patches.place(torch.autograd, "_engine_run_backward", lambda real: functools.partial(self._run, real))

    def restore(self) -> None:
        """Restore torch's function."""
        self._patches.restore()

    # ---------- one pass ----------

    def _run(self, real: Any, t_outputs: Any, *args: Any, **kwargs: Any) -> Any:
        mode = self._mode
        if not mode.is_open or threading.get_ident() != self._thread or is_capturing():
            return real(t_outputs, *args, **kwargs)
        passing = None
        hooks: list[Any] = []
        with mode.guard, muted():
            passing = _Pass(self, t_outputs, args)
            self._passes.append(passing)
            hooks = self.hooks.install()
        self._registry.backwards += 1
        # if torch has taken the mode off its stack, put it back, because the mode must observe the program's hooks
        is_off_stack = mode.is_off_stack
        if is_off_stack:
            mode.__enter__()
            mode.is_off_stack = False
        try:
            return real(t_outputs, *args, **kwargs)
        except RuntimeError as error:
            t_outputs = args = kwargs = None  # type: ignore[assignment]  # the traceback keeps this frame alive
            if _STALE in str(error) and mode.is_open:
                self._emit(events.StaleRead(None, "stale"))
            raise
        finally:
            if is_off_stack:
                remove_mode(mode)  # does nothing if the recording has ended in a hook
                mode.is_off_stack = True
            self._registry.backwards -= 1
            self.hooks.restore(hooks)
            if passing is not None:
                passing.end()
                self._passes.remove(passing)

    def _settle(self) -> None:
        """Emit the end of the previous node, because a hook of the program is about to run."""
        if self._passes:
            self._passes[-1].settle()

    # ---------- gradients in flight ----------

    def count_in_flight(self, gradient: torch.Tensor) -> None:
        """Count the bytes of a gradient that only torch refers to (in flight), with its address as the key.

        Reading its storage instead would change how torch adds to the gradient.
        """
        if not gradient.numel() or gradient.device.type != "cpu" or self._registry.memory_at(gradient) is not None:
            return
        begin = gradient.data_ptr() - gradient.storage_offset() * gradient.element_size()
        if begin in self._in_flight:
            return
        reach = 1 + sum((n - 1) * stride for n, stride in zip(gradient.shape, gradient.stride(), strict=True))
        size, me = reach * gradient.element_size(), weakref.ref(self)
        self._in_flight[begin] = size, weakref.ref(gradient, lambda _: _on_gradient_freed(me, begin))
        self._registry.allocated += size
        self._emit(events.FlightChange(size))

    def register_received(self, gradient: Any) -> None:
        """Register a gradient that a hook or the program receives. It is no longer in flight."""
        if isinstance(gradient, torch.Tensor) and is_drawable(gradient) and self._registry.memory_at(gradient) is None:
            self.stop_counting(gradient.data_ptr() - gradient.storage_offset() * gradient.element_size())
            self._registry.register(gradient, is_new=True)

    def stop_counting(self, begin: int) -> None:
        """Stop counting the gradient at ``begin``, because it is no longer in flight."""
        size, _ = self._in_flight.pop(begin, (0, None))
        self._registry.allocated -= size
        if size and self._mode.is_open:
            self._emit(events.FlightChange(-size))

    def stop_counting_all(self) -> None:
        """Stop counting all gradients, because the backward pass has ended."""
        for begin in list(self._in_flight):
            self.stop_counting(begin)


def _on_gradient_freed(backward: weakref.ref[Backward], begin: int) -> None:
    alive = backward()
    if alive is not None:
        alive.stop_counting(begin)


class _Pass:
    """The hooks of the recorder in one backward pass."""

    def __init__(self, of: Backward, roots: Any, args: Sequence[Any]) -> None:
        self._of, self._nodes, self._registry = of, of._nodes, of._registry
        grads, keeps, creates = (*args, None, None, None)[:3]
        self._keeps = bool(keeps or creates)
        self._handles: list[Any] = []
        self._parts: dict[int, _Part] = {}
        self._left: NodeTag | None = None
        self._later: list[events.Event] = []  # events of the threads in which torch runs nodes on a GPU
        roots = [x for x in ((roots,) if isinstance(roots, torch.Tensor) else roots) if isinstance(x, torch.Tensor)]
        starts = [(self._nodes.of(x), x, g) for x, g in zip(roots, grads or (None,) * len(roots), strict=False)]
        self._listen([fn for x in roots if (fn := self._nodes.fn_of(x)) is not None])
        for tag, x, g in starts:
            if tag is not None and is_drawable(x):
                gradient = elements_of(g.detach()) if g is not None else np.ones(tuple(x.shape), np.float32)
                of._emit(events.BackwardStart(tag, gradient))

    def _listen(self, todo: list[Any]) -> None:
        """Add hooks to every node that backward() may visit, without keeping a node alive."""
        seen = set(todo)
        while todo:
            fn = todo.pop()
            if is_leaf(fn):
                x = fn.variable
                if not self._registry.is_tensor(x):
                    continue
                tag = self._nodes.leaf(x)
                self._registry.awaited[id(x)] = id(x.grad) if x.grad is not None else 0
                self._handles.append(call_after_leaf(fn, AfterLeaf(self, tag, weakref.ref(x))))
                continue
            tag = self._nodes.known(fn) or self._nodes.at(fn)
            parents = tuple(self._parent(tag, parent, output) for parent, output in fn.next_functions)
            self._handles.append(fn.register_prehook(BeforeNode(self, tag)))
            self._handles.append(fn.register_hook(AfterNode(self, tag, parents)))
            for parent, _ in fn.next_functions:
                if parent is not None and parent not in seen:
                    seen.add(parent)
                    todo.append(parent)

    def _parent(self, tag: NodeTag, parent: Any, output: int) -> NodeTag | None:
        """Return the tag of a parent node, or None; ``tag`` itself if the parent belongs to the same call."""
        if parent is None:
            return None
        within = not is_leaf(parent) and self._nodes.known(parent) is tag
        return tag if within else self._nodes.parent(parent, output)

    def end(self) -> None:
        """Remove the hooks and emit the delayed events, at the end of the pass or after an error."""
        with muted():
            self.settle()
            for handle in self._handles:
                handle.remove()
            for event in self._later:
                self._of._emit(event)
            if not self._registry.backwards:
                self._registry.awaited.clear()
                self._of.stop_counting_all()
                self._registry.read_objects()

    # ---------- events ----------

    def _emit(self, event: events.Event) -> None:
        if threading.get_ident() == self._of._thread:
            self._of._emit(event)
        else:  # the event has copies in host memory, so it can be emitted later
            self._later.append(event)

    def before_node(self, tag: NodeTag, grads: Sequence[torch.Tensor | None]) -> None:
        """Emit that backward is about to run a node."""
        self.settle()
        tag.begin_reading()
        gradient = next((g for g in grads if g is not None), None)
        if gradient is None or not is_drawable(gradient):
            return
        self._of.count_in_flight(gradient)
        if id(tag) in self._parts:
            return  # another node of the same call has emitted the event
        elements = elements_of(gradient.detach())
        self._parts[id(tag)] = _Part(tag.size, elements.copy() if elements.size <= 64 else elements[:0])
        self._emit(events.NodeEnter(tag, elements))
        if tag.is_custom:
            for each in grads:
                self._of.register_received(each)

    def after_node(self, tag: NodeTag, parents: Sequence[NodeTag | None], given: Sequence[torch.Tensor | None]) -> None:
        """Emit that backward has run the nodes of a call, once the last of them has run."""
        part = self._parts.get(id(tag))
        if part is None:
            return
        sent = []
        for parent, gradient in zip(parents, given, strict=False):
            if parent is not None and gradient is not None and is_drawable(gradient):
                self._of.count_in_flight(gradient)
                if parent is not tag:
                    sent.append((parent, elements_of(gradient.detach())))
        part.pending -= 1
        if part.pending > 0:
            part.sent += [(parent, elements.copy()) for parent, elements in sent]
            return
        del self._parts[id(tag)]
        self._emit(events.NodeVisit(tag, part.gradient, part.sent + sent))
        self._left = tag

    def settle(self) -> None:
        """Emit the end of the previous node after its hooks. Release its saved tensors unless the graph is retained."""
        tag, self._left = self._left, None
        if tag is None:
            return
        if not self._keeps:
            tag.release()
        self._emit(events.NodeLeave(tag))

    def after_leaf(self, tag: NodeTag, x: torch.Tensor | None) -> None:
        """Emit that backward has stored the gradient of a leaf."""
        self.settle()
        gradient = None if x is None else x.grad
        self._registry.awaited.pop(id(x), None)
        if gradient is None or not self._registry.is_tensor(gradient):
            return
        if not self._registry.is_registered(gradient):
            self._of.register_received(gradient)
        self._emit(events.LeafGradient(tag, gradient))
