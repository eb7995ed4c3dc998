"""Record the events and facts of the running step, and its position in the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memory_stage.model.entries import Event


class Journal:
    """Events and facts of the running step; the parts of a ledger share one journal.

    Attributes:
        before: events about everything that existed before the first step.
        events: events of the running step, as a trace has them (``trace.schema.json``).
        facts: changes of the running step, from which its sentence is written.
        step: number of the running step; -1 before :meth:`begin`.
        line: line of the running statement.
        run: number of that statement's execution.
        on_freed: called when the interpreter frees a tensor or an array, with a function that records this. The
            recorder replaces it, to find the statement first.
    """

    def __init__(self) -> None:
        self.before: list[Event] = []
        self.events: list[Event] = []
        self.facts: list[Any] = []
        self.step = -1
        self.line = 1
        self.run = 0
        self.on_freed: Callable[[Callable[[], None]], None] = call
        self._counts: dict[str, int] = {}

    def begin(self) -> None:
        """Start the first step; all events so far are about things that existed before."""
        self.before, self.events, self.facts = self.events, [], []
        self.step = 0

    def close_step(self) -> tuple[list[Event], list[Any]]:
        """Return the events and facts of the running step, and start the next step."""
        closed = self.events, self.facts
        self.events, self.facts = [], []
        self.step += 1
        return closed

    def new_id(self, letter: str) -> str:
        """Return the next id that starts with ``letter``."""
        self._counts[letter] = number = self._counts.get(letter, 0) + 1
        return f"{letter}{number}"

    def add_freed(self, kind: str, id_: str) -> None:
        """Add an id to the last event if that is a ``free``, else to a new one; ``kind``: tensors or storages."""
        if not self.events or self.events[-1]["do"] != "free":
            self.events.append({"do": "free", "tensors": [], "storages": []})
        self.events[-1][kind].append(id_)


def call(record: Callable[[], None]) -> None:
    """Run ``record`` at once."""
    record()
