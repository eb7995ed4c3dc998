"""The line that made each node of the graph, by the node's sequence number."""

from __future__ import annotations

from array import array
from bisect import bisect_right

MOST_ENTRIES = 400_000  # about 8 MB; then the older half is forgotten


class NodeLog:
    """A list of lines, ordered by the sequence number of the first node that each of them made.

    A framework numbers the nodes of its graph in the order in which it makes them. Several nodes in a row that one line
    made take one entry if nothing was written in between. A time is the number of writes so far.
    """

    def __init__(self) -> None:
        self._first = array("q")  # the sequence number of the first node of each entry
        self._line = array("l")
        self._time = array("q")

    def add(self, first: int, line: int, time: int) -> None:
        """Record that a line made the nodes from the sequence number ``first`` on, after ``time`` writes."""
        lines = self._line
        if lines and lines[-1] == line and self._time[-1] == time:
            return
        self._first.append(first)
        lines.append(line)
        self._time.append(time)
        if len(lines) > MOST_ENTRIES:
            half = MOST_ENTRIES // 2
            del self._first[:half], lines[:half], self._time[:half]

    def find(self, sequence_number: int) -> tuple[int, int] | None:
        """Return the index of the line that made a node, and the node's time; None if both are forgotten."""
        at = bisect_right(self._first, sequence_number) - 1
        return None if at < 0 else (self._line[at], self._time[at])

    def __len__(self) -> int:
        return len(self._line)
