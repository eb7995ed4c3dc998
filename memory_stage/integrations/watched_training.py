"""Watch a training that a trainer runs.

Callbacks use this module. They are called when the training begins and ends, so they cannot use a ``with`` block.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from typing import Any

from memory_stage.explanation.whole_run.explanation import Explanation, watching
from memory_stage.explanation.whole_run.faults import Fault


class WatchedTraining:
    """Watches one training after another, and prints each fault to standard error when it happens.

    Attributes:
        explanation: the explanation of the latest training; None before the first.
    """

    _open: WatchedTraining | None = None

    def __init__(self) -> None:
        self.explanation: Explanation | None = None

    def begin(self, model: Any, variables: Mapping[str, Any]) -> None:
        """Watch this thread.

        If an earlier trainer has failed without calling ``end``, its watch is ended first.

        Args:
            model: an object whose class the program defines. The file of that class is taken as the program.
            variables: maps the program's names to objects. At the end, these objects are searched for graphs that they
                keep alive.
        """
        if WatchedTraining._open is not None:
            WatchedTraining._open.end()
        self.explanation = watching(dict(variables), _file_of(model))
        self.explanation.on_fault = self._print
        WatchedTraining._open = self
        self.explanation.__enter__()

    def end(self, error: BaseException | None = None) -> None:
        """Stop watching, and print a sentence if no fault was found. Do nothing if no training has begun."""
        if self.explanation is None or WatchedTraining._open is not self:
            return
        WatchedTraining._open = None
        self.explanation.__exit__(
            None if error is None else type(error), error, None if error is None else error.__traceback__
        )
        if not self.explanation.faults:
            _write(str(self.explanation))

    def _print(self, fault: Fault) -> None:
        if self.explanation is not None:
            _write(self.explanation.text_of([fault]))


def _write(text: str) -> None:
    sys.stderr.write(f"\n{text}\n")
    sys.stderr.flush()


def _file_of(model: Any) -> str:
    try:
        return inspect.getsourcefile(type(model)) or ""
    except TypeError:  # the class was defined in a notebook or in the interpreter
        return ""
