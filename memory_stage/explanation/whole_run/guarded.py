"""Collect the faults that diagnoses find, and survive errors in the diagnoses themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memory_stage.explanation.whole_run.faults import Fault
from memory_stage.messages import Language, Text, message, speaking


class FaultCollector:
    """Passes on the faults that diagnoses find, and notes the diagnoses that fail.

    Args:
        note: called with a sentence about something that could not be diagnosed.
    """

    def __init__(self, add: Callable[[Fault], None], note: Callable[[Text], None], language: Language) -> None:
        self.add, self._note, self.language = add, note, language
        self._explained = 0  # the id of the last error that was diagnosed

    def begin(self) -> None:
        """Forget which error was explained, because a later error may get its id."""
        self._explained = 0

    def collect(self, what: Text, diagnose: Callable[[], list[Any]]) -> bool:
        """Add the faults of a diagnosis and return True if there are any. If the diagnosis fails, note that."""
        try:
            with speaking(self.language):
                found = [fault for fault in diagnose() if fault is not None]
        except Exception as failure:
            self._note(
                message(
                    "An error in this tool prevented the diagnosis of {part}: {error}.", part=what, error=repr(failure)
                )
            )
            return False
        for fault in found:
            self.add(fault)
        return bool(found)

    def explain(self, error: BaseException, what: Text, diagnose: Callable[[], list[Any]]) -> None:
        """Add the faults behind an error, unless it has been explained."""
        if not self.is_explained(error) and self.collect(what, diagnose):
            self._explained = id(error)

    def is_explained(self, error: BaseException) -> bool:
        """Return True if a fault was found for an error."""
        return id(error) == self._explained
