"""The line that made each node of the graph, by the node's sequence number."""

from __future__ import annotations

from array import array
from bisect import bisect_right

MOST_ENTRIES = 400_000  # about 8 MB; then the older half is forgotten


#: A time after every write: nothing is known of the node.
NO_TIME = 2**62


class NodeLog:
    """A list of lines, ordered by the sequence number of the first node that each of them made.

    A framework numbers the nodes of its graph in the order in which it makes them. Several nodes in a row that one line
    made take one entry if nothing was written in between. A time is the number of writes so far. Nodes of code that is
    not watched have no line, and count as made after every write that the log knew when it met their gap.
    """

    def __init__(self) -> None:
        self._first = array("q")  # the sequence number of the first node of each entry
        self._line = array("l")
        self._time = array("q")
        self._end = 0  # the sequence number after the last node that is logged

    def add(self, first: int, end: int, line: int, time: int) -> None:
        """Record that a line made the nodes numbered from ``first`` to ``end - 1``, after ``time`` writes."""
        lines = self._line
        if first != self._end:
            self._append(self._end, 0, time)
        elif lines and lines[-1] == line and self._time[-1] == time:
            self._end = end
            return
        self._append(first, line, time)
        self._end = end

    def find(self, sequence_number: int) -> tuple[int, int]:
        """Return the index of the line that made a node, and the node's time; 0 and a late time if they are unknown."""
        at = bisect_right(self._first, sequence_number) - 1
        return (0, NO_TIME) if at < 0 or sequence_number >= self._end else (self._line[at], self._time[at])

    def _append(self, first: int, line: int, time: int) -> None:
        self._first.append(first)
        self._line.append(line)
        self._time.append(time)
        if len(self._line) > MOST_ENTRIES:
            half = MOST_ENTRIES // 2
            del self._first[:half], self._line[:half], self._time[:half]

    def __len__(self) -> int:
        return len(self._line)
