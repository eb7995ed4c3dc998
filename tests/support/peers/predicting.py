"""Compare the recorder's stale tensors with torch's backward, on random programs.

    python -m tests.support.peers.predicting 2000      in an environment with torch

If a line of a program fails, the program continues. At the end, backward runs from every tensor.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections import Counter
from typing import Any, ClassVar

import torch

import memory_stage as stage
from memory_stage.engines.events import Event, NodeEnter
from memory_stage.engines.protocol import SavedTensorState
from memory_stage.engines.torch import backward
from memory_stage.engines.torch.node_tags import NodeTag
from tests.support.vocabulary.aliases.generator import program

_ASK_ALL = """
for name_, x_ in list(globals().items()):
    if isinstance(x_, torch.Tensor) and name_ != "x_" and x_.requires_grad:
        try:
            x_.sum().backward(retain_graph=True)
        except Exception:
            pass
"""


def source_of(number: int) -> str:
    """Return a random program in which each line may fail."""
    lines = [f"try:\n    {line.text}\nexcept Exception:\n    pass" for line in program(number)]
    return "\n".join(lines) + _ASK_ALL


class Watched(backward.Backward):
    """Run torch's backward, and compare the prediction for each pass with the result."""

    counts: ClassVar[Counter[str]] = Counter()

    def _run(self, real: Any, t_outputs: Any, *args: Any, **kwargs: Any) -> Any:
        roots = [t_outputs] if isinstance(t_outputs, torch.Tensor) else list(t_outputs)
        with torch._C.DisableTorchFunction():
            stale = _stale([tag for x in roots if (tag := self._nodes.of(x)) is not None])
        del roots
        entered: list[NodeTag] = []
        emit = self._emit

        def note(event: Event) -> None:
            if isinstance(event, NodeEnter):
                entered.append(event.node)
            emit(event)

        self._emit = note
        try:
            given = super()._run(real, t_outputs, *args, **kwargs)
        except RuntimeError as error:
            if "modified by an inplace operation" in str(error):
                self._note(True, stale, entered)
            else:
                self.counts["raised for another reason"] += 1
            raise
        finally:
            self._emit = emit
        self._note(False, stale, entered)
        return given

    def _note(self, raised: bool, stale: set[NodeTag], entered: list[NodeTag]) -> None:
        passed = [tag for tag in entered if tag in stale]
        self.counts["roots"] += 1
        self.counts["roots right"] += raised == bool(stale)
        if raised:
            self.counts["raised"] += 1
            self.counts["at the very node"] += bool(entered) and entered[-1] in stale and len(passed) == 1


def _stale(todo: list[NodeTag]) -> set[NodeTag]:
    """Return the nodes below these roots whose saved tensors have changed."""
    seen: set[NodeTag] = set()
    while todo:
        tag = todo.pop()
        if tag in seen:
            continue
        seen.add(tag)
        todo += [parent for parent in tag.parents if parent is not None]
        todo += tag.outputs.values()
    return {
        tag
        for tag in seen
        if any(entry.saved_state() in (SavedTensorState.LOST, SavedTensorState.MOVED) for entry in tag.entries)
    }


def run(first: int, last: int) -> tuple[Counter[str], list[int]]:
    """Return the sums of the counts of some programs, and the seeds of the programs with a wrong prediction."""
    from memory_stage.engines.torch import engine

    before, engine.Backward = engine.Backward, Watched
    total: Counter[str] = Counter()
    wrong = []
    try:
        for number in range(first, last):
            Watched.counts = Counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                shown = stage.record(source_of(number), {"torch": torch}, steps=10_000)
            counts = Watched.counts
            if shown.data["variants"][0]["truncated"]:
                counts["recordings that ended early"] += 1
                wrong.append(number)
            elif counts["roots"] != counts["roots right"] or counts["raised"] != counts["at the very node"]:
                wrong.append(number)
            total += counts
    finally:
        engine.Backward = before
    return total, wrong


if __name__ == "__main__":
    torch.set_num_threads(1)
    count = int(sys.argv[1])
    counts, wrong = run(0, count)
    print(json.dumps({"torch": torch.__version__, "programs": count, **counts, "wrong in": wrong}, indent=1))
