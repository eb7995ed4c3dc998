"""The events and changes of the running step, and its position in the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memory_stage.model.entries import Event


class Journal:
    """Events and changes of the running step. All parts of a ledger write to one journal.

    Attributes:
        before: events for everything that existed before the first step.
        events: events of the running step, in the form that a trace has (``trace.schema.json``).
        facts: changes of the running step, from which its sentence is written (``changes``).
        step: the number of the running step; -1 before :meth:`begin`.
        line: the line of the running statement.
        run: the number of this execution of that statement.
        on_freed: called when the interpreter frees a tensor or an array. Its argument is a function that records this.
            The recorder sets another ``on_freed``, which finds the running statement before it calls that function.
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
        """Start the first step. All events so far are for things that existed before it."""
        self.before, self.events, self.facts = self.events, [], []
        self.step = 0

    def close_step(self) -> tuple[list[Event], list[Any]]:
        """Return the events and changes of the running step, and start the next step."""
        closed = self.events, self.facts
        self.events, self.facts = [], []
        self.step += 1
        return closed

    def new_id(self, letter: str) -> str:
        """Return a new id that starts with ``letter``."""
        self._counts[letter] = number = self._counts.get(letter, 0) + 1
        return f"{letter}{number}"

    def add_freed(self, kind: str, id_: str) -> None:
        """Record in the last event, or in a new one, that the tensor or storage with this id is freed.

        ``kind`` is ``tensors`` or ``storages``. The last event is used if it is a ``free``.
        """
        if not self.events or self.events[-1]["do"] != "free":
            self.events.append({"do": "free", "tensors": [], "storages": []})
        self.events[-1][kind].append(id_)


def call(record: Callable[[], None]) -> None:
    """Run ``record`` immediately."""
    record()
