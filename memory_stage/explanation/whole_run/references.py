"""Diagnose a state dict that refers to the module's own parameters, so that loading the dict restores nothing."""

from __future__ import annotations

import contextlib
import functools
import sys
import weakref
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

import torch

from memory_stage.engines.framework import Patches
from memory_stage.explanation.whole_run.faults import Evidence, Fault, FaultCollector, Fix
from memory_stage.explanation.whole_run.program_text import ProgramText
from memory_stage.messages import message
from memory_stage.watch.lines import UNKNOWN_LINE, ProgramLine
from memory_stage.watch.torch.watched_run import WatchedRun


class StateDicts:
    """Patches of ``Module.state_dict`` and ``load_state_dict`` that find a state dict on the module's own memory."""

    def __init__(self, watch: WatchedRun, collector: FaultCollector) -> None:
        self._watch, self._collector = watch, collector
        self._patches = Patches()
        #: For each module, the backward pass before its last call of ``state_dict``, and the call's line.
        self._taken: weakref.WeakKeyDictionary[torch.nn.Module, tuple[Any, ProgramLine]] = weakref.WeakKeyDictionary()

    def subscribe(self) -> None:
        """Patch the two methods."""
        for name, before in (("state_dict", self._on_taken), ("load_state_dict", self._on_loaded)):
            self._patches.place(torch.nn.Module, name, functools.partial(_preceded_by, before))

    def unsubscribe(self) -> None:
        """Restore torch's methods, unless the program has patched them since."""
        self._patches.restore()

    def _on_taken(self, module: torch.nn.Module, frame: FrameType, *args: Any) -> None:
        if frame.f_code.co_name != "state_dict":  # not the call that a module makes for a submodule
            self._taken[module] = self._last_pass(), self._watch.line_of(frame)

    def _last_pass(self) -> Any:
        return self._watch.passes[-1] if self._watch.passes else None

    def _on_loaded(self, module: torch.nn.Module, frame: FrameType, *args: Any) -> None:
        self._collector.collect(message("a loaded state"), lambda: [self._diagnose(module, frame, *args)])

    def _diagnose(self, module: torch.nn.Module, frame: FrameType, *args: Any) -> Fault | None:
        last = self._last_pass()
        before, taken = self._taken.get(module, (last, UNKNOWN_LINE))
        if not args or not isinstance(args[0], Mapping) or before is last:
            return None
        own = [(name, x) for name, x in module.named_parameters() if isinstance(args[0].get(name), torch.Tensor)]
        address = torch._C._storage_address
        if not own or any(address(x) != address(args[0][name]) for name, x in own):
            return None
        line, text = self._watch.line_of(frame), ProgramText(taken.file)
        calls = [each for each in text.calls("state_dict") if each.lineno == taken.number]
        edits = text.wrapped(calls[0], "{{k: v.clone() for k, v in {}.items()}}") if len(calls) == 1 else ()
        verdict = message(
            "Line {line} restores nothing: the state dict of line {taken} refers to the module's own parameters, which "
            "have been trained further.",
            line=line.number,
            taken=taken.number,
        )
        fix = Fix(message("Copy the tensors when you take the state."), text.file, edits)
        return Fault(
            "reference",
            verdict,
            (
                Evidence(taken, message("refers to the parameters")),
                Evidence(line, message("copies the parameters onto themselves")),
            ),
            message("`state_dict()` copies no tensor."),
            (fix,),
            is_silent=True,
        )


def _preceded_by(before: Callable[..., None], real: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that calls ``before`` with the module, the caller's frame and the arguments, then ``real``."""

    @functools.wraps(real)
    def method(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
        with contextlib.suppress(Exception), torch._C.DisableTorchFunction():
            before(module, sys._getframe(1), *args)
        return real(module, *args, **kwargs)

    return method
