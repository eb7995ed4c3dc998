"""Watch a training whose loop a trainer runs, for callbacks that learn only of its begin and its end."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from typing import Any

from memory_stage.explanation.whole_run.explanation import Explanation, watching
from memory_stage.explanation.whole_run.faults import Fault
from memory_stage.explanation.whole_run.one_screen import as_text
from memory_stage.explanation.whole_run.rank import rank_words


class WatchedTraining:
    """The watching of one training after another. Each fault is printed to standard error when it is found.

    One training is watched at a time. The next one ends the last, which a trainer may have left by an error.

    Attributes:
        explanation: the explanation of the training that began last; None before the first.
    """

    _open: WatchedTraining | None = None

    def __init__(self) -> None:
        self.explanation: Explanation | None = None

    def begin(self, model: Any, variables: Mapping[str, Any]) -> None:
        """Watch this thread.

        Args:
            model: the object whose class the program has written; its file is taken as the program's.
            variables: where to search for kept graphs at the end, by the names that the program uses.
        """
        if WatchedTraining._open is not None:
            WatchedTraining._open.end()
        self.explanation = watching(dict(variables), _file_of(model))
        self.explanation.on_fault = self._print
        WatchedTraining._open = self
        self.explanation.__enter__()

    def end(self, error: BaseException | None = None) -> None:
        """Stop watching, and print that nothing was found if that is so. Without a begun training, nothing happens."""
        if self.explanation is None or WatchedTraining._open is not self:
            return
        WatchedTraining._open = None
        self.explanation.__exit__(
            None if error is None else type(error), error, None if error is None else error.__traceback__
        )
        if not self.explanation.faults:
            _write(str(self.explanation))

    def _print(self, fault: Fault) -> None:
        _write(as_text([fault], [], rank_words()))


def _write(text: str) -> None:
    sys.stderr.write(f"\n{text}\n")
    sys.stderr.flush()


def _file_of(model: Any) -> str:
    try:
        return inspect.getsourcefile(type(model)) or ""
    except TypeError:  # a class of a notebook or of the interpreter
        return ""
