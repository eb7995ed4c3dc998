"""Diagnose a copy that is none: a state dict that refers to the parameters that it should restore."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

import torch

from memory_stage.explanation.whole_run.faults import Evidence, Fault, Fix
from memory_stage.explanation.whole_run.program_text import ProgramText
from memory_stage.watch.lines import ProgramLine
from memory_stage.watch.torch.watched_run import WatchedRun


class StateDicts:
    """Watch ``Module.load_state_dict`` for a state that is the module's own memory.

    Args:
        watch: the logs of the run.
        found: called with a fault.
    """

    def __init__(self, watch: WatchedRun, found: Callable[[Fault], None]) -> None:
        self._watch, self._found = watch, found
        self._real: Any = None

    def subscribe(self) -> None:
        """Look at each state before the module loads it."""
        real = self._real = torch.nn.Module.load_state_dict

        @functools.wraps(real)
        def load_state_dict(module: torch.nn.Module, state_dict: Any, *args: Any, **kwargs: Any) -> Any:
            with torch._C.DisableTorchFunction():
                self._look(module, state_dict, sys._getframe(1))
            return real(module, state_dict, *args, **kwargs)

        torch.nn.Module.load_state_dict = load_state_dict

    def unsubscribe(self) -> None:
        """Restore torch's method."""
        torch.nn.Module.load_state_dict = self._real

    def _look(self, module: torch.nn.Module, state: Any, frame: FrameType) -> None:
        if not isinstance(state, Mapping):
            return
        own = [(name, x) for name, x in module.named_parameters() if isinstance(state.get(name), torch.Tensor)]
        shared = [name for name, x in own if torch._C._storage_address(x) == torch._C._storage_address(state[name])]
        if not shared or len(shared) < len(own):
            return
        line = self._watch.line_of(frame)
        text = ProgramText(line.file)
        calls = [each for each in text.calls("state_dict") if each.lineno <= line.number]
        taken = [ProgramLine(text.file, call.lineno, "") for call in calls[-1:]]
        evidence = [Evidence(each, "refers to the parameters") for each in taken]
        evidence.append(Evidence(line, "copies the parameters onto themselves"))
        edits = text.wrapped(calls[-1], "{{k: v.clone() for k, v in {}.items()}}") if calls else ()
        self._found(
            Fault(
                "reference",
                f"Line {line.number} restores nothing: the state dict refers to the module's own parameters, which "
                "have been trained further.",
                tuple(evidence),
                "`state_dict()` copies no tensor.",
                (Fix("Copy the tensors when you take the state.", text.file if edits else "", edits),),
                is_silent=True,
            )
        )
