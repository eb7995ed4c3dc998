"""Run a program and count its statements, so that a second run can be recorded around one of them.

The program runs with hooks and is not recorded.
"""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_right
from collections.abc import Callable
from typing import Any

from memory_stage.recorder import instrument
from memory_stage.recorder.source import ProgramSource

#: The largest number of statements in the log. At the limit, the older half is forgotten.
MOST_STATEMENTS = 1_000_000

#: The largest number of statements in a window before the first statement of interest, after the last, and in total.
MOST_BEFORE, AFTER, MOST = 150, 3, 400


class CountedRun:
    """A run of a program.

    Args:
        nodes_made: a function that returns how many nodes have been created so far.

    Attributes:
        count: the number of statements that have begun.
    """

    def __init__(self, source: str, file: str, nodes_made: Callable[[], int]) -> None:
        self.count = 0
        self._nodes_made = nodes_made
        self._source = ProgramSource(source, file)
        self._thread = 0
        self._forgotten = 0
        # for each statement, the number of nodes before it, and its hook
        self._nodes, self._hooks = array("q"), array("l")
        # for each iteration, the number of statements before it, and the hook of its loop
        self._turn_counts, self._turn_hooks = array("q"), array("l")

    def run(self, names: dict[str, Any]) -> None:
        """Run the program with the global names ``names``. An error of the program is raised."""
        self._thread = threading.get_ident()
        before, instrument.listener = instrument.listener, self._on_hook
        try:
            for node in self._source.tree.body:
                index, code = self._source.compile(node, False)
                self._on_hook(index, "before", None)
                exec(code, names)
        finally:
            instrument.listener = before
            self._source.remove_hooks()

    def _on_hook(self, index: int, moment: str, value: Any) -> None:
        if moment == "before" and threading.get_ident() == self._thread and index in self._source.statements:
            self.count += 1
            self._nodes.append(self._nodes_made())
            self._hooks.append(index)
            if len(self._nodes) > MOST_STATEMENTS:
                half = MOST_STATEMENTS // 2
                del self._nodes[:half], self._hooks[:half]
                self._forgotten += half
        elif moment == "turn" and threading.get_ident() == self._thread:
            self._turn_counts.append(self.count)
            self._turn_hooks.append(index)
            if len(self._turn_counts) > MOST_STATEMENTS:
                del self._turn_counts[: MOST_STATEMENTS // 2], self._turn_hooks[: MOST_STATEMENTS // 2]

    def window(self, node: int, last: int) -> tuple[int, int]:
        """Return the numbers of the first and the last statement to record.

        The recorded part begins with an iteration of a loop around the last statement: the iteration in which the node
        was created. If there are several such loops, it is the outermost one whose iteration is not too long. If there
        is none, the part begins a few statements before the first statement of interest.

        Args:
            node: the number of the node; -1 if there is none.
            last: the number of the last statement of interest.
        """
        first = last
        if node >= 0:
            first = max(1, min(last, self._forgotten + bisect_right(self._nodes, node)))
        if last - first > MOST - MOST_BEFORE:
            first = last - MOST_BEFORE
        return self._begin_of_iteration(first, last), last + AFTER

    def _begin_of_iteration(self, first: int, last: int) -> int:
        statement = self._source.statements[self._hooks[max(0, last - self._forgotten - 1)]]
        begins: dict[int, int] = {}
        for number in range(bisect_right(self._turn_counts, first - 1) - 1, -1, -1):
            count, loop = self._turn_counts[number], self._turn_hooks[number]
            if count < first - MOST_BEFORE:
                break
            if loop in statement.loops:
                begins.setdefault(loop, count + 1)
        return next((begins[loop] for loop in statement.loops if loop in begins), max(1, first - MOST_BEFORE // 5))
