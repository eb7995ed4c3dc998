"""Hears what a program asks of torch, and tells it as events.

* One mode (``TorchFunctionMode``) hears every call that takes or gives tensors: before it runs, the versions of what it
  is given are noted; afterwards what was written, what is new and what looks another way is told.
* What goes wrong in here ends the hearing and never the program.
* Another thread, and a process that was forked off, run as if nobody listened.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from memory_stage.engines import events
from memory_stage.engines.torch import meta_probe as probing
from memory_stage.engines.torch.calls import Call, call_of, tensors_in, written_name
from memory_stage.engines.torch.cuda import CAPTURED, is_capturing
from memory_stage.engines.torch.frames import Caller, is_inside, place_of, without_ours
from memory_stage.engines.torch.memory import is_in_transform, layout_of, unheard, why_not
from memory_stage.engines.torch.nodes import Nodes
from memory_stage.engines.torch.registry import Registry
from memory_stage.engines.torch.saved import Entry
from memory_stage.engines.torch.threads import leave_soon
from memory_stage.engines.torch.user_hooks import UserHooks
from memory_stage.engines.torch.writes import NOWHERE, bits_of, cells_written, reason_of, stamp_of


class Given(NamedTuple):
    """A tensor that a call is given, and how it was before."""

    x: torch.Tensor
    version: int
    bits: np.ndarray | None  # its elements, where the call may write without a version


class Mode(TorchFunctionMode):
    """Hears the calls of one thread."""

    def __init__(self, registry: Registry, nodes: Nodes, emit: events.Listener) -> None:
        super().__init__()
        self.registry, self.nodes, self.emit = registry, nodes, emit
        self.is_open = True
        self.is_inside = False  # a call of torch's runs, and the mode is off the stack meanwhile
        self.calls = 0  # that run: torch puts the mode back when they are over
        self.hooks: UserHooks | None = None
        self._caller = Caller()
        self._process, self._thread = os.getpid(), threading.get_ident()
        self._named: set[str] = set()  # reasons that were told

    # ---------- a call ----------

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        call = call_of(func)
        if call.is_gradient and self.is_open and self._gradient_asked(args[0]):
            return self._caller.call(sys._getframe(1), func, args, kwargs)
        if not self.is_open:
            leave_soon(self)
        if not self.is_open or call.is_silent or self._is_elsewhere():
            was, self.is_inside = self.is_inside, True
            self.calls += 1
            try:
                result = self._caller.call(sys._getframe(1), func, args, kwargs)
            except BaseException as error:
                args = kwargs = None  # the traceback leads here
                without_ours(error, sys._getframe(1))
                raise
            finally:
                self.is_inside = was
                self.calls -= 1
            if call.hooks and self.is_open and self.hooks is not None:
                self.hooks.registered(args[0])
            return result
        given: list[Given] | None = None
        extra: list[Entry] = []
        try:
            with unheard():
                given = self._before(call, args, kwargs)
                if given is not None:
                    extra = self._hidden(call, func, args, kwargs)
        except Exception as failure:
            self._fail(failure)
        was, self.is_inside = self.is_inside, True
        self.calls += 1
        try:
            result = self._caller.call(sys._getframe(1), func, args, kwargs)
        except BaseException as error:
            reason = reason_of(error)
            args = kwargs = given = None
            if reason and self.is_open:
                self.emit(events.Refusal(None, reason))
            without_ours(error, sys._getframe(1))
            raise
        finally:
            self.is_inside = was
            self.calls -= 1
        try:
            if self.is_open and given is not None:
                with unheard():
                    self._after(call, args, kwargs, given, result, extra)
        except Exception as failure:
            self._fail(failure)
        return result

    def _is_elsewhere(self) -> bool:
        """In a process that was forked off, or where a GPU's graph is captured."""
        if is_capturing():
            self.note_unseen(CAPTURED)
            return True
        return os.getpid() != self._process

    def _fail(self, failure: Exception) -> None:
        """A mistake of this package's ends the recording."""
        self.is_open = False
        self.emit(events.Failure(failure))

    def note_unseen(self, text: str) -> None:
        """Tell once that something is not recorded."""
        if text not in self._named:
            self._named.add(text)
            self.emit(events.Omission(text))

    def made(self, name: str, x: torch.Tensor) -> None:
        """A function that no mode hears of has made a tensor."""
        if not self.is_open or self.is_inside or threading.get_ident() != self._thread:
            return
        try:
            with unheard():
                if self.registry.is_tensor(x) and not self.registry.knows(x):
                    self.registry.meet(x, told=True)
                    self.registry.record(x).stamp = stamp_of(x)
                    self.emit(events.Make(x, name, ()))
        except Exception as failure:
            self._fail(failure)

    def _gradient_asked(self, x: torch.Tensor) -> bool:
        """The program asks for ``x.grad``: whether ``x`` keeps none, of which torch warns."""
        try:
            with unheard():
                known = self.registry.is_tensor(x) and self.registry.knows(x) and self.nodes.fn_of(x) is not None
                if known and not x.retains_grad and not is_inside(sys._getframe(2)):
                    self.emit(events.GradientRequest(x))
                    return True
        except Exception as failure:
            self._fail(failure)
        return False

    # ---------- before it ----------

    def _before(self, call: Call, args: Any, kwargs: dict[str, Any]) -> list[Given] | None:
        """What a call is given; None where it is not recorded."""
        registry = self.registry
        given: dict[int, Given] = {}
        for x in tensors_in([*args, *kwargs.values()], 4):
            if id(x) in given:
                continue
            if not registry.is_tensor(x):
                self._not_drawn(x)
                if is_in_transform(x):
                    return None
                continue
            if not registry.knows(x):
                if registry.backwards and registry.memory_at(x) is None:
                    continue  # a gradient on its way: nothing may be asked of it
                registry.record(x)
                self.emit(events.Discovery(x))
            elif registry.kept(x).version != x._version:
                self.emit(events.Discovery(x))  # written unheard
            if x.requires_grad:
                self.nodes.of(x)
            given[id(x)] = Given(x, x._version, bits_of(x) if call.is_uncounted else None)
            if call.exports:
                registry.shared(x)
                break
        return list(given.values())

    def _not_drawn(self, x: torch.Tensor) -> None:
        self.note_unseen(f"Not recorded: {why_not(x)}.")

    def _hidden(self, call: Call, func: Any, args: Any, kwargs: dict[str, Any]) -> list[Entry]:
        """What a write through a view will save, in a node that does not show it."""
        x = args[0] if args else None
        if not isinstance(x, torch.Tensor) or not torch.is_grad_enabled() or not x._is_view():
            return []
        if not (call.name.endswith("_") or kwargs.get("inplace")) or not self.registry.is_tensor(x):
            return []
        operands = list(dict.fromkeys(tensors_in([*args[1:], *kwargs.values()])))
        if not (x.requires_grad or any(each.requires_grad for each in operands)):
            return []
        found = []
        for what, number in probing.saved_by(func, args, kwargs):
            of = x if number in (probing.OWN, probing.BEFORE) else operands[number]
            if self.registry.is_tensor(of):
                version = of._version + (number == probing.OWN)
                found.append(Entry(what, self.registry.kept(of), layout_of(of), version))
        return found

    # ---------- after it ----------

    def _after(
        self, call: Call, args: Any, kwargs: dict[str, Any], given: list[Given], result: Any, extra: list[Entry]
    ) -> None:
        place = place_of(sys._getframe(2))
        inputs = tuple(each.x for each in given)
        known = {id(x) for x in inputs}
        results = [x for x in tensors_in(result) if id(x) not in known] if not _is_plain(result) else []
        written = self._written(given)
        if not (written or results or call.is_uncounted or inputs):
            return
        name = call.name
        for x in written:  # before its node is asked for: a write through a view makes it anew
            self.registry.record(x).current = x._version if self._is_own_history(x) else None
        targets = [x._base if x._is_view() and x._base.requires_grad else x for x in written]
        fresh = self._told_first(results, inputs, call)
        self.nodes.made(written_name(name) if written else name, [*targets, *results], place, extra)
        resized = {id(x) for x in inputs if self.registry.resized(x)}
        for x in written:
            if id(x) not in resized:
                self._tell_write(x, name, inputs, NOWHERE if call.writes_nothing else cells_written(x, name, args))
        for x, _, bits in given:
            if bits is not None:
                self._tell_changes(x, name, bits)
        for x in inputs:
            self._tell_look(x, name, inputs, id(x) in resized)
        for x, view_of in fresh:
            if view_of is not None:
                self.emit(events.MakeView(x, name, (view_of, *(each for each in inputs if each is not view_of))))
            else:
                self.emit(events.Make(x, name, inputs))
            self.registry.record(x).stamp = stamp_of(x)

    def _written(self, given: list[Given]) -> list[torch.Tensor]:
        """The tensors through which something was written: the first given of those that count versions together."""
        found: dict[int, torch.Tensor] = {}
        for x, version, _ in given:
            if x._version != version:
                found.setdefault(id(self.registry.kept(x)), x)
        return list(found.values())

    @staticmethod
    def _is_own_history(x: torch.Tensor) -> bool:
        """Whether the write through ``x`` was recorded, so that torch has brought its node up to date."""
        return torch.is_grad_enabled() and x.requires_grad

    def _told_first(
        self, results: list[torch.Tensor], inputs: Sequence[torch.Tensor], call: Call
    ) -> list[tuple[torch.Tensor, torch.Tensor | None]]:
        """What a call has given that is new, with what it is a view of. New storages are told of."""
        registry = self.registry
        fresh: list[tuple[torch.Tensor, torch.Tensor | None]] = []
        for x in results:
            if registry.knows(x):
                continue
            if not registry.is_tensor(x):
                self._not_drawn(x)
                continue
            memory = registry.memory_at(x)
            of = None
            if memory is not None:
                of = next((each for each in inputs if registry.kept(each).memory is memory), None)
            elif registry.backwards and not inputs:
                continue
            else:
                registry.meet(x, told=True)
            record = registry.record(x, like=None if of is None else registry.kept(of), own=call.is_data)
            record.current = x._version
            fresh.append((x, of))
        return fresh

    def _tell_write(self, x: torch.Tensor, name: str, inputs: tuple[Any, ...], where: Any) -> None:
        kept = self.registry.kept(x)
        kept.version = x._version
        self.nodes.written(kept, layout_of(x) if where is None else where)
        self.emit(events.Write(x, written_name(name), inputs, where))

    def _tell_changes(self, x: torch.Tensor, name: str, before: np.ndarray) -> None:
        """A call may have written without a version."""
        now = bits_of(x)
        if now is not None and x._version == self.registry.kept(x).version and not np.array_equal(now, before):
            self.emit(events.UnversionedWrite(x, written_name(name), None))

    def _tell_look(self, x: torch.Tensor, name: str, inputs: tuple[Any, ...], resized: bool) -> None:
        """A tensor that a call was given may look another way now."""
        record, stamp = self.registry.record(x), stamp_of(x)
        if (record.stamp is not None and record.stamp != stamp) or resized:
            self.registry.kept(x)
            self.emit(events.Relayout(x, written_name(name), inputs))
        record.stamp = stamp


def _is_plain(result: Any) -> bool:
    return result is None or isinstance(result, (bool, int, float, str))
