"""The line that created each node of the graph, by the node's sequence number, and backward passes."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from dataclasses import dataclass

MOST_ENTRIES = 400_000  # the largest number of entries of 20 bytes, 8 MB; at the limit, the older half is forgotten


#: A time later than every write, for a node about which nothing is known.
NO_TIME = 2**62


@dataclass(frozen=True)
class BackwardPass:
    """A backward pass that has succeeded.

    Attributes:
        line: the index of the line that called backward.
        time: the number of writes before the pass ended.
        next_node: the number of the next node that the program creates.
        keeps_graph: True if the pass retained the graph.
    """

    line: int
    time: int
    next_node: int
    keeps_graph: bool


class NodeLog:
    """A list of lines, each with the sequence number of the first node that it created, in ascending order.

    A framework numbers the nodes of its graph in the order of their creation. Consecutive nodes that one line created
    share one entry if nothing was written between them. A time is the number of writes so far. Nodes that unwatched
    code created leave a gap in the sequence numbers. They have no line, and their time is the time at which the log
    found the gap. It finds the gap at the latest just before the next watched call.
    """

    def __init__(self) -> None:
        self._first = array("q")  # the sequence number of the first node of each entry
        self._line = array("i")
        self._time = array("q")
        self._end = 0  # the sequence number after that of the last logged node

    def add(self, first: int, end: int, line: int, time: int) -> None:
        """Record that a line created the nodes numbered from ``first`` to ``end - 1``, after ``time`` writes."""
        lines = self._line
        if first != self._end:
            self._append(self._end, 0, time)
        elif lines and lines[-1] == line and self._time[-1] == time:
            self._end = end
            return
        self._append(first, line, time)
        self._end = end

    def add_gap(self, end: int, time: int) -> None:
        """Record that unwatched code created the nodes numbered up to ``end - 1``, after ``time`` writes."""
        if end > self._end:
            self._append(self._end, 0, time)
            self._end = end

    def fill_gap(self, sequence_number: int, line: int, time: int) -> None:
        """Record the line of a node that unwatched code created. The node is in a gap, or not in the log yet."""
        if sequence_number >= self._end:
            self.add(sequence_number, sequence_number + 1, line, time)
            return
        at = bisect_right(self._first, sequence_number) - 1
        if at >= 0 and not self._line[at]:
            self._line[at], self._time[at] = line, time

    def fill_gaps(self, first: int, end: int, line: int, time: int) -> None:
        """Record the line of those nodes numbered from ``first`` to ``end - 1`` that unwatched code created."""
        self.add_gap(first, time)
        self.add_gap(end, time)
        for at in range(bisect_right(self._first, first - 1), len(self._line)):
            if not self._line[at]:
                self._line[at], self._time[at] = line, time

    def find(self, sequence_number: int) -> tuple[int, int]:
        """Return the index of the line that created a node, and the node's time; 0 and ``NO_TIME`` if not logged."""
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
