"""Compare the traces of random programs in real PyTorch and in minitensor's PyTorch vocabulary.

    python -m tests.support.peers.both_engines 500      in an environment with torch

After each line, the comparison covers the value of each name (numbers, shape, strides, offset, dtype, version, whether
it requires a gradient, whether it is a leaf), the names that share a storage, and the lines of the operations that
saved stale tensors. Each difference has one of the kinds in ``KINDS``, or is ``unknown``.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch

import memory_stage as stage
import minitensor.torch as own
from tests.support.stage.replay import Memory, after_each_line
from tests.support.vocabulary.aliases.generator import Line, program

SAME, UNKNOWN = "the same", "unknown"
KINDS = {
    "the version of a gradient": "torch adds to `.grad` in place and raises its version; minitensor makes a new sum",
    "the stride of one element": "along a dimension with one element, every stride reads the same element",
    "the layout of a result": "if operands have different layouts, each engine uses the layout of another operand",
    "a write of cells that overlap": "torch fills a tensor whose elements share a cell; minitensor refuses the write",
    "gradients before an error": "torch's backward may have reached a leaf before it raises; minitensor raises before",
    "saves more": "`std`, `log_softmax` and others save values in torch that minitensor computes again",
}
#: Operations that write one number or one row everywhere, so torch accepts them even if elements share a cell.
_FILLS = ("fill_(", "zero_(", "masked_fill_(", "index_fill_(", "] = ", "] += ", "] -= ", "] *= ", "] /= ")
#: Operations that torch composes of others, or whose result torch saves.
_SAVES_MORE = ("std", "log_softmax", "abs", "relu", "clamp")


def states(variant: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any], dict[str, Any]]]:
    """Yield for each line its number, the values, and the lines of the operations that saved stale tensors."""
    for line, memory in after_each_line(variant):
        yield line, _seen(memory), _stale(memory)


def _seen(memory: Memory) -> dict[str, Any]:
    found = {}
    numbers: dict[str, int] = {}
    for name, id_ in sorted(memory.names.items()):
        if " " in name:
            continue  # a value to which only the running line refers
        tensor = memory.tensors[id_]
        storage = memory.storages[tensor["storage"]]
        place = numbers.setdefault(storage["id"], len(numbers))
        cells = {cell: _rounded(text) for cell, text in storage["values"].items()}
        look = {key: tensor[key] for key in ("shape", "strides", "offset", "dtype", "stop_gradient", "leaf")}
        found[name] = {**look, "storage": place, "cells": cells, "version": tensor.get("version", storage["version"])}
    return found


def _elements(seen: dict[str, Any]) -> list[Any]:
    """Return the shape, and the numbers in row-major order."""
    cells = [seen["offset"]]
    for n, stride in zip(seen["shape"], seen["strides"], strict=True):
        cells = [cell + i * stride for cell in cells for i in range(n)]
    return [seen["shape"], [seen["cells"].get(str(cell)) for cell in cells]]


def _rounded(text: str) -> str:
    try:
        return f"{float(text):.2g}"
    except ValueError:
        return text


def _stale(memory: Memory) -> dict[str, Any]:
    lines = [
        (memory.nodes[save["node"]]["line"], bool(save["stale"]))
        for save in memory.saved.values()
        if save["node"] in memory.nodes
    ]
    return dict(Counter(f"line {line}" for line, stale in set(lines) if stale))


def differences(lines: list[Line]) -> list[tuple[int, str, Any, Any]]:
    """Return the differences in the first line that has one. Each has the line, the subject, and the answers of both
    engines.
    """
    source = "\n".join(line.accepted or line.text for line in lines)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = stage.record(source, {"torch": torch})
        ours = stage.record(source, {"torch": own})
    ended = theirs.data["variants"][0]["truncated"] or ours.data["variants"][0]["truncated"]
    if ended:
        return [(0, "ended early", ended, "")]
    one, two = (list(states(each.data["variants"][0])) for each in (theirs, ours))
    found = []
    for (line, seen, stale), (other, seen_here, stale_here) in zip(one, two, strict=False):
        if line != other:
            found.append((line, "line", line, other))
        if _is_overlapping(lines[line - 1].text, seen, seen_here):
            return [(line, "a write of cells that overlap", line, None)]
        for name in sorted(seen.keys() | seen_here.keys()):
            a, b = seen.get(name), seen_here.get(name)
            if a is not None and b is None and name.endswith(".grad") and _both_raised(theirs, ours, line):
                return [(line, "gradients before an error", name, None)]
            if a is None or b is None:
                found.append((line, "name", name if a else None, name if b else None))
            else:
                laid_out = {"strides", "cells"} if a["cells"] != b["cells"] and _elements(a) == _elements(b) else set()
                found += [(line, "layout", name, name)] if laid_out else []
                found += [
                    (line, key, (name, a[key]), (name, b[key])) for key in a if a[key] != b[key] and key not in laid_out
                ]
        if stale != stale_here:
            found.append((line, "stale", stale, stale_here))
        if found:
            return found
    if len(one) != len(two) or (theirs.error is None) != (ours.error is None):
        found.append((0, "end", str(theirs.error), str(ours.error)))
    return found


def _both_raised(theirs: Any, ours: Any, line: int) -> bool:
    """True if both programs ended in this line with errors that are the same up to the first colon."""
    errors = [str(each.error).partition(":")[0] for each in (theirs, ours) if each.error is not None]
    last = [each.data["variants"][0]["steps"][-1]["line"] for each in (theirs, ours)]
    return len(errors) == 2 and errors[0] == errors[1] and last == [line, line]


def _overlaps(look: dict[str, Any]) -> bool:
    """True if several elements of a tensor share one cell, as after ``expand``."""
    return any(n > 1 and stride == 0 for n, stride in zip(look["shape"], look["strides"], strict=True))


def _is_overlapping(text: str, theirs: dict[str, Any], ours: dict[str, Any]) -> bool:
    """True if a line filled a tensor with overlapping cells in torch, but minitensor did not write the tensor."""
    target = text.rpartition("no_grad(): ")[2].partition("[")[0].partition(".")[0]
    look, here = theirs.get(target), ours.get(target)
    written = look is not None and here is not None and look["version"] > here["version"]
    return written and _overlaps(look) and any(op in text for op in _FILLS)


def kind(lines: list[Line]) -> str:
    """Return the kind of the first difference, or ``SAME``."""
    found = differences(lines)
    if not found:
        return SAME
    kinds = {_kind(lines, *each) for each in found}
    return UNKNOWN if UNKNOWN in kinds else min(kinds)


def _kind(lines: list[Line], line: int, what: str, theirs: Any, ours: Any) -> str:
    if what == "version" and theirs[0].endswith(".grad"):
        return "the version of a gradient"
    if what in KINDS:
        return what
    if what == "layout":
        return "the layout of a result"
    if what == "strides":
        return "the stride of one element"
    if what == "stale":
        more = {key for key in theirs if key not in ours}
        texts = [lines[int(key.split()[1]) - 1].text for key in more]
        if texts and not ours.keys() - theirs.keys() and all(any(op in text for op in _SAVES_MORE) for text in texts):
            return "saves more"
    return UNKNOWN


if __name__ == "__main__":
    torch.set_num_threads(1)
    count = int(sys.argv[1])
    kinds = {number: kind(program(number)) for number in range(count)}
    unknown = [number for number, each in kinds.items() if each == UNKNOWN]
    reported = {"torch": torch.__version__, "programs": count, **Counter(kinds.values()), "unknown in": unknown}
    print(json.dumps(reported, indent=1))
