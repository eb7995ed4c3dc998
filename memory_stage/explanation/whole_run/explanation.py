"""Watch a program and collect its faults."""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
from types import TracebackType
from typing import Any

from memory_stage.explanation.whole_run.diagnosis import FRAMEWORKS, Diagnosis
from memory_stage.explanation.whole_run.faults import Fault
from memory_stage.explanation.whole_run.one_screen import as_text
from memory_stage.recorder.reachable_tensors import local_variables

#: Different faults that are kept; a program that has more is explained by the first ones.
MOST_FAULTS = 20


class Explanation:
    """The faults of a run. It is a context manager: the program inside it is watched.

        with watching() as why:
            train()
        print(why)

    Args:
        variables: where to look for graphs that the program keeps alive; by default the variables around the block.

    Attributes:
        faults: the faults, in the order of the run.
        unseen: a sentence for each thing that could not be watched or diagnosed.
    """

    def __init__(self, variables: dict[str, Any] | None = None) -> None:
        self.variables = variables
        self.faults: list[Fault] = []
        self.unseen: list[str] = []
        self._diagnosis: Diagnosis | None = None

    def __enter__(self) -> Explanation:
        self._diagnosis = Diagnosis(self.add, self._note)
        self._diagnosis.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        diagnosis, self._diagnosis = self._diagnosis, None
        if diagnosis is None:
            return
        frame = sys._getframe(1)
        found = frame.f_globals if frame.f_code.co_name == "<module>" else local_variables(frame)
        variables = found if self.variables is None else self.variables
        diagnosis.end(error, traceback, variables, str(variables.get("__file__") or frame.f_code.co_filename))

    @property
    def is_silently_wrong(self) -> bool:
        """True if the program ran on with wrong numbers."""
        return any(each.is_silent for each in self.faults)

    def add(self, fault: Fault) -> None:
        """Add a fault, or count it if the same one was found before."""
        for number, known in enumerate(self.faults):
            if known == fault:
                self.faults[number] = dataclasses.replace(known, count=known.count + 1)
                return
        if len(self.faults) < MOST_FAULTS:
            self.faults.append(fault)

    def __str__(self) -> str:
        return as_text(self.faults, self.unseen)

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return the faults as texts, numbers and lists, for tools."""
        return {"faults": [each.to_dict() for each in self.faults], "unseen": list(self.unseen)}

    def _note(self, sentence: str) -> None:
        if sentence not in self.unseen:
            self.unseen.append(sentence)


def watching(variables: dict[str, Any] | None = None) -> Explanation:
    """Return a context manager that watches the program inside it and explains its faults.

    Args:
        variables: where to look, at the end, for graphs that the program keeps alive; by default the variables of the
            code around the block.

    Raises:
        ImportError: if neither PyTorch nor Paddle is installed.
    """
    if not any(name in sys.modules or importlib.util.find_spec(name) for name in FRAMEWORKS):
        raise ImportError("neither PyTorch nor Paddle is installed in this environment, so no program can be explained")
    return Explanation(variables)
