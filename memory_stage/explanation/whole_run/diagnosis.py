"""Diagnose the faults of a watched run of PyTorch: the place where logs and graphs become faults."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

from memory_stage.explanation.whole_run import freed_graph, leaks, overwritten, refusals
from memory_stage.explanation.whole_run.faults import Fault
from memory_stage.explanation.whole_run.references import StateDicts
from memory_stage.watch.torch.watched_run import WatchedRun


class Diagnosis:
    """The watching of one run, from :meth:`begin` to :meth:`end`.

    Args:
        add: called with each fault.
        note: called with a sentence about something that could not be diagnosed.
    """

    def __init__(self, add: Callable[[Fault], None], note: Callable[[str], None]) -> None:
        self._add, self._note = add, note
        self._run = WatchedRun(self._failed, self._suspected, note)
        self._state_dicts = StateDicts(self._run, add)
        self._known: set[Any] = set()  # silent faults that were found
        self._explained = 0  # the id of the last error of a backward pass that was diagnosed

    def begin(self) -> None:
        """Watch this thread."""
        self._state_dicts.subscribe()
        self._run.__enter__()

    def end(
        self, error: BaseException | None, traceback: TracebackType | None, variables: dict[str, Any], file: str
    ) -> None:
        """Stop watching, and diagnose the error that ended the program and the graphs that it still holds.

        Args:
            error: the error, or None.
            traceback: its traceback.
            variables: the variables of the program, in which graphs are searched.
            file: the program's file.
        """
        self._run.__exit__(None, None, None)
        self._state_dicts.unsubscribe()
        if self._run.failure is not None:
            self._note(f"Watching ended early, because of a fault of this tool: {self._run.failure!r}.")
        if error is None or type(error).__name__ == "OutOfMemoryError":
            self._guard("the graphs that are left", lambda: leaks.diagnose_end(self._run, variables, file))
        if error is not None and id(error) != self._explained:
            self._guard(
                "the error that ended the program", lambda: [refusals.diagnose_error(self._run, error, traceback)]
            )

    def _failed(self, run: WatchedRun, roots: Any, error: BaseException, frame: FrameType) -> None:
        def diagnose() -> list[Fault | None]:
            fault = overwritten.diagnose_error(run, roots, error, frame)
            return [fault or freed_graph.diagnose_error(run, roots, error, frame)]

        if self._guard("an error of a backward pass", diagnose):
            self._explained = id(error)

    def _suspected(self, run: WatchedRun, roots: Any, frame: FrameType) -> None:
        self._guard("a backward pass", lambda: overwritten.diagnose_silence(run, roots, frame, self._known))

    def _guard(self, what: str, diagnose: Callable[[], list[Any]]) -> bool:
        """Add the faults of a diagnosis, and return True if there are any. Its own failure is noted, not raised."""
        try:
            found = [fault for fault in diagnose() if fault is not None]
        except Exception as failure:
            self._note(f"A fault of this tool prevented the diagnosis of {what}: {failure!r}.")
            return False
        for fault in found:
            self._add(fault)
        return bool(found)
