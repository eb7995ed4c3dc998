"""Observe a program's calls of torch, and emit their events.

* A mode (``TorchFunctionMode``) observes every call of torch. Before the call it reads the versions of the
  arguments; after the call it emits the written cells, new tensors, changed layouts and the reason of a refused write.
* An error in the mode ends the recording, and the program continues.
* The mode does not observe other threads and forked processes.
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
from memory_stage.engines.framework import Guard
from memory_stage.engines.protocol import numbers_in_cells
from memory_stage.engines.torch import meta_probe as probing
from memory_stage.engines.torch.calls import Call, call_of, tensors_in, written_name
from memory_stage.engines.torch.cuda import CAPTURED, is_capturing
from memory_stage.engines.torch.frames import Caller, is_library_frame, place_of, remove_recorder_frames
from memory_stage.engines.torch.memory import (
    address_of,
    cell_sizes,
    elements_of,
    is_in_transform,
    layout_of,
    muted,
    own_layout_of,
    why_not,
)
from memory_stage.engines.torch.nodes import Nodes
from memory_stage.engines.torch.registry import Registry
from memory_stage.engines.torch.saved import Entry
from memory_stage.engines.torch.threads import remove_mode_soon
from memory_stage.engines.torch.user_hooks import UserHooks
from memory_stage.messages import Text, message


class ArgumentState(NamedTuple):
    """An argument of a call, and its state before the call."""

    x: torch.Tensor
    version: int
    bits: np.ndarray | None  # a copy of the elements, if the call may overwrite memory without incrementing a version


class Mode(TorchFunctionMode):
    """A mode that observes the calls of one thread."""

    def __init__(self, registry: Registry, nodes: Nodes, emit: events.Listener) -> None:
        super().__init__()
        self.registry, self.nodes, self.emit = registry, nodes, emit
        self.is_open = True
        self.guard = Guard(self._fail)
        self.is_off_stack = False  # True while a call of torch runs, during which torch takes the mode off the stack
        self.calls = 0  # the number of running calls; at the end of each, torch puts the mode back on the stack
        self.hooks: UserHooks | None = None
        self._caller = Caller()
        self._process, self._thread = os.getpid(), threading.get_ident()
        self._named: set[Text] = set()  # reasons that were emitted already

    # ---------- a call ----------

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        call = call_of(func)
        if call.is_gradient and self.is_open and self._reads_missing_gradient(args[0]):
            return self._caller.call(sys._getframe(1), func, args, kwargs)
        if not self.is_open:
            remove_mode_soon(self)
        if not self.is_open or call.is_silent or self._is_elsewhere():
            was, self.is_off_stack = self.is_off_stack, True
            self.calls += 1
            try:
                result = self._caller.call(sys._getframe(1), func, args, kwargs)
            except BaseException as error:
                args = kwargs = None  # the traceback refers to this frame, which must not keep tensors alive
                remove_recorder_frames(error, sys._getframe(1))
                raise
            finally:
                self.is_off_stack = was
                self.calls -= 1
            if call.hooks and self.is_open and self.hooks is not None:
                self.hooks.registered(args[0])
            return result
        given: list[ArgumentState] | None = None
        extra: list[Entry] = []
        with self.guard, muted():
            given = self._before(call, args, kwargs)
            if given is not None:
                extra = self._hidden(call, func, args, kwargs)
        was, self.is_off_stack = self.is_off_stack, True
        self.calls += 1
        try:
            result = self._caller.call(sys._getframe(1), func, args, kwargs)
        except BaseException as error:
            reason = reason_of(error)
            args = kwargs = given = None
            if reason and self.is_open:
                self.emit(events.Refusal(None, reason))
            remove_recorder_frames(error, sys._getframe(1))
            raise
        finally:
            self.is_off_stack = was
            self.calls -= 1
        if self.is_open and given is not None:
            with self.guard, muted():
                self._after(call, args, given, result, extra)
        return result

    def _is_elsewhere(self) -> bool:
        """True in a forked process, and while torch captures the GPU's work as a CUDA graph."""
        if is_capturing():
            self.report_unrecorded(CAPTURED)
            return True
        return os.getpid() != self._process

    def _fail(self, failure: Exception) -> None:
        """End the recording because the recorder has raised an error."""
        self.is_open = False
        self.emit(events.Failure(failure))

    def report_unrecorded(self, text: Text) -> None:
        """Emit that a part of the program is not recorded; only once for each reason."""
        if text not in self._named:
            self._named.add(text)
            self.emit(events.Omission(text))

    def made(self, name: str, x: torch.Tensor) -> None:
        """Emit the creation of a tensor by a function that no mode observes."""
        if not self.is_open or self.is_off_stack or threading.get_ident() != self._thread:
            return
        with self.guard, muted():
            if self.registry.is_tensor(x) and not self.registry.is_registered(x):
                self.registry.register(x, is_new=True)
                self.registry.record(x).stamp = stamp_of(x)
                self.emit(events.Make(x, name, ()))

    def _reads_missing_gradient(self, x: torch.Tensor) -> bool:
        """Emit an event and return True if the program reads the missing gradient of a non-leaf; torch then warns."""
        with self.guard, muted():
            known = self.registry.is_tensor(x) and self.registry.is_registered(x) and self.nodes.fn_of(x) is not None
            if known and not x.retains_grad and not is_library_frame(sys._getframe(2)):
                self.emit(events.GradientRequest(x))
                return True
        return False

    # ---------- before a call ----------

    def _before(self, call: Call, args: Any, kwargs: dict[str, Any]) -> list[ArgumentState] | None:
        """Return the arguments of a call with their states; None if the call is not recorded."""
        registry = self.registry
        given: dict[int, ArgumentState] = {}
        for x in tensors_in([*args, *kwargs.values()], 4):
            if id(x) in given:
                continue
            if not registry.is_tensor(x):
                self._report_undrawn(x)
                if is_in_transform(x):
                    return None
                continue
            if not registry.is_registered(x):
                if registry.backwards and registry.memory_at(x) is None:
                    continue  # a gradient in flight; reading its storage would change how torch adds to it
                registry.record(x)
                self.emit(events.Discovery(x))
            elif registry.current_counter(x).version != x._version:
                self.emit(events.Discovery(x))  # an unobserved call has written ``x``
            if x.requires_grad:
                self.nodes.of(x)
            given[id(x)] = ArgumentState(x, x._version, bits_of(x) if call.is_uncounted else None)
            if call.exports:
                registry.shared(x)
                break
        return list(given.values())

    def _report_undrawn(self, x: torch.Tensor) -> None:
        self.report_unrecorded(message("Not recorded: {tensor}.", tensor=why_not(x)))

    def _hidden(self, call: Call, func: Any, args: Any, kwargs: dict[str, Any]) -> list[Entry]:
        """Return the tensors that a write through a view will save in a node that torch hides."""
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
                found.append(Entry(what, self.registry.current_counter(of), layout_of(of), version))
        return found

    # ---------- after a call ----------

    def _after(self, call: Call, args: Any, given: list[ArgumentState], result: Any, extra: list[Entry]) -> None:
        place = place_of(sys._getframe(2))
        inputs = tuple(each.x for each in given)
        known = {id(x) for x in inputs}
        results = [x for x in tensors_in(result) if id(x) not in known] if not _is_plain(result) else []
        written = self._written_tensors(given)
        if not (written or results or call.is_uncounted or inputs):
            return
        name = call.name
        for x in written:  # before the node is read, because a write through a view creates a new node
            self.registry.record(x).current = x._version if self._is_own_history(x) else None
        targets = [x._base if x._is_view() and x._base.requires_grad else x for x in written]
        fresh = self._register_results(results, inputs, call)
        self.nodes.made(written_name(name) if written else name, [*targets, *results], place, extra)
        resized = {id(x) for x in inputs if self.registry.resized(x)}
        for x in written:
            if id(x) not in resized:
                self._emit_write(x, name, inputs, NOWHERE if call.writes_nothing else cells_written(x, name, args))
        for x, _, bits in given:
            if bits is not None:
                self._emit_unversioned(x, name, bits)
        for x in inputs:
            self._emit_relayout(x, name, inputs, id(x) in resized)
        for x, view_of in fresh:
            if view_of is not None:
                self.emit(events.MakeView(x, name, (view_of, *(each for each in inputs if each is not view_of))))
            else:
                self.emit(events.Make(x, name, inputs))
            self.registry.record(x).stamp = stamp_of(x)

    def _written_tensors(self, given: list[ArgumentState]) -> list[torch.Tensor]:
        """Return the written tensors. If several share a version counter, only the first argument is returned."""
        found: dict[int, torch.Tensor] = {}
        for x, version, _ in given:
            if x._version != version:
                found.setdefault(id(self.registry.current_counter(x)), x)
        return list(found.values())

    @staticmethod
    def _is_own_history(x: torch.Tensor) -> bool:
        """True if the write through ``x`` was recorded for backward, so that torch has updated the node of ``x``."""
        return torch.is_grad_enabled() and x.requires_grad

    def _register_results(
        self, results: list[torch.Tensor], inputs: Sequence[torch.Tensor], call: Call
    ) -> list[tuple[torch.Tensor, torch.Tensor | None]]:
        """Register new storages. Return each new result with the tensor that it is a view of, or None."""
        registry = self.registry
        fresh: list[tuple[torch.Tensor, torch.Tensor | None]] = []
        for x in results:
            if registry.is_registered(x):
                continue
            if not registry.is_tensor(x):
                self._report_undrawn(x)
                continue
            memory = registry.memory_at(x)
            of = None
            if memory is not None:
                of = next((each for each in inputs if registry.current_counter(each).memory is memory), None)
            elif registry.backwards and not inputs:
                continue
            else:
                registry.register(x, is_new=True)
            record = registry.record(x, like=None if of is None else registry.current_counter(of), own=call.is_data)
            record.current = x._version
            fresh.append((x, of))
        return fresh

    def _emit_write(self, x: torch.Tensor, name: str, inputs: tuple[Any, ...], where: Any) -> None:
        counter = self.registry.current_counter(x)
        counter.version = x._version
        self.nodes.written(counter, layout_of(x) if where is None else where)
        self.emit(events.Write(x, written_name(name), inputs, where))

    def _emit_unversioned(self, x: torch.Tensor, name: str, before: np.ndarray) -> None:
        """Emit an unversioned write if the elements have changed."""
        now = bits_of(x)
        if (
            now is not None
            and x._version == self.registry.current_counter(x).version
            and not np.array_equal(now, before)
        ):
            self.emit(events.UnversionedWrite(x, written_name(name), None))

    def _emit_relayout(self, x: torch.Tensor, name: str, inputs: tuple[Any, ...], resized: bool) -> None:
        """Emit that the layout of an argument has changed, if it has."""
        record, stamp = self.registry.record(x), stamp_of(x)
        if (record.stamp is not None and record.stamp != stamp) or resized:
            self.registry.current_counter(x)
            self.emit(events.Relayout(x, written_name(name), inputs))
        record.stamp = stamp


def _is_plain(result: Any) -> bool:
    return result is None or isinstance(result, (bool, int, float, str))


MOST_COMPARED = 1 << 20  # the largest number of bytes of a tensor that are compared to find unversioned writes

_NO_LEAF = ("a leaf Variable that requires grad", "a view of a leaf Variable", "leaf variable has been moved")
_OVERLAPS = "more than one element of the written-to tensor refers to a single memory location"
_SEVERAL = "This view is the output of a function that returns multiple views"
_DTYPE = "can't be cast to the desired output type"

#: The cells of a write that increments the version without overwriting anything.
NOWHERE = np.empty(0, np.int64)


def cells_written(x: torch.Tensor, name: str, args: Any) -> Any:
    """Return the cells that an item assignment writes, as a layout or as an array of indices; None for all of ``x``."""
    if name != "setitem" or not args or args[0] is not x:
        return None
    index = args[1] if isinstance(args[1], tuple) else (args[1],)
    parts = tuple(elements_of(each) if isinstance(each, torch.Tensor) else each for each in index)
    sliced = _slice_of(x, parts)
    if sliced is not None or x.numel() > MOST_COMPARED:
        return sliced
    numbers = np.full(tuple(x.shape), own_layout_of(x).offset, np.int64)
    for axis, stride in enumerate(x.stride()):
        shape = [1] * x.dim()
        shape[axis] = x.shape[axis]
        numbers += (np.arange(x.shape[axis]) * stride).reshape(shape)
    try:
        size = x.element_size()
        return numbers_in_cells(numbers[parts], size, cell_sizes.get(address_of(x), size))
    except (IndexError, TypeError, ValueError):  # numpy does not accept this index
        return None


def stamp_of(x: torch.Tensor) -> tuple[Any, ...]:
    """Return the layout, dtype and address of a tensor, to find out if a call changes them."""
    return x.data_ptr() if x.numel() else 0, x.shape, x.stride(), x.storage_offset(), x.dtype


def bits_of(x: torch.Tensor) -> np.ndarray | None:
    """Return a copy of a tensor's elements (of a large tensor, only the first); None on a GPU or without elements."""
    if x.device.type != "cpu" or not x.numel():
        return None
    elements = elements_of(x.detach())
    return elements.reshape(-1)[: MOST_COMPARED // x.element_size()].copy()


def _slice_of(x: torch.Tensor, parts: tuple[Any, ...]) -> Any:
    """Return the layout that an index of integers, slices, None and ``...`` selects; None for another index."""
    if not all(each is None or each is Ellipsis or type(each) in (int, slice) for each in parts):
        return None
    return layout_of(x.detach()[parts])


def reason_of(error: BaseException) -> str:
    """Return the key of the sentence that explains why torch refuses a write; an empty string for other errors."""
    text = str(error) if isinstance(error, RuntimeError) else ""
    if any(each in text for each in _NO_LEAF):
        return "leaf_written"
    if _OVERLAPS in text:
        return "overlapping_target"
    if _SEVERAL in text:
        return "view_of_several"
    return "result_does_not_fit" if _DTYPE in text else ""
