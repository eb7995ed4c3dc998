"""Compare the stale tensors that the recorder predicts with the errors of Paddle's backward, on random programs.

    python -m tests.support.peers.paddle_predicting 500 [from]      in an environment with paddle

At the end of each program, backward runs from every name that is not a leaf.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from typing import Any

import paddle

import memory_stage as stage
from memory_stage.engines.paddle.engine import engine
from tests.support.peers.paddle_programs import NAMES, in_a_child, program

_VERSIONS = re.compile(r"Its version is (\d+) but the expected version is (\d+)")


def predicted(node: Any) -> set[tuple[int, int]]:
    """Return the current and the saved versions of all stale tensors below a node."""
    found, seen, todo = set(), set(), [node]
    while todo:
        each = todo.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        todo += each.parents
        found |= {
            (save.storage.version, save.version)
            for save in each.saved
            if save.storage.version != save.version and not save.is_unchecked
        }
    return found


def judge(names: dict[str, Any], found: list[Any]) -> None:
    """Record the predictions, and then run backward, for every tensor of the program."""
    state = engine().state
    for name in NAMES:
        root = names[name]
        node = state.node_of(root)
        if node is None or root.is_leaf:
            continue
        expected = predicted(node)
        try:
            root.backward(retain_graph=True)
            reported = None
        except RuntimeError as error:
            match = _VERSIONS.search(str(error))
            if match is None:
                continue  # another error, which is not predicted
            reported = tuple(map(int, match.groups()))
        found.append((name, expected, reported))


def judged(seed: int) -> Any:
    """Return for each tensor from which backward runs its name, the versions of the stale tensors below it, and the
    versions in the error (None without an error). If the program fails, return the text that ``in_a_child`` returns.
    """

    def run() -> list[Any]:
        names: dict[str, Any] = {"paddle": paddle, "errors": [], "found": [], "judge": judge}
        names["names"] = names
        shown = stage.record(program(seed, gradient=False) + "judge(names, found)\n", names, steps=2000)
        assert shown.data["variants"][0]["truncated"] is None
        return [(name, sorted(expected), reported) for name, expected, reported in names["found"]]

    return in_a_child(run)


def is_right(expected: list[Any], reported: Any) -> bool:
    """True if backward named one of the expected versions, or did not raise if none was expected."""
    return reported in expected if reported is not None else not expected


if __name__ == "__main__":
    count, first = (int(each) for each in (*sys.argv[1:], "0")[:2])
    counts: Counter[str] = Counter()
    wrong = []
    for seed in range(first, first + count):
        found = judged(seed)
        if isinstance(found, str):
            counts["crashed" if found == "crashed" else "failed"] += 1
            wrong += [] if found == "crashed" else [seed]
            continue
        for _, expected, reported in found:
            counts["roots"] += 1
            counts["raised"] += reported is not None
            counts["right"] += is_right(expected, reported)
        wrong += [] if all(is_right(expected, reported) for _, expected, reported in found) else [seed]
    print(json.dumps({"paddle": paddle.__version__, "programs": count, **counts, "wrong in": wrong}, indent=1))
