"""Compare the traces of random programs in Paddle and in minitensor's Paddle vocabulary.

    python -m tests.support.peers.paddle_beside 200      in an environment with Paddle 3

After each line, the comparison covers the value of each name (numbers, shape, strides, offset, dtype, version, whether
it requires a gradient, whether it is a leaf), the names that share a storage, and the operations that saved stale
tensors. The first difference has a named kind (``KINDS``), or is ``unknown``.
"""

from __future__ import annotations

import functools
import json
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import paddle

import memory_stage as stage
import minitensor as own
from tests.support.peers.paddle_programs import in_a_child, program
from tests.support.stage.replay import Memory, after_each_line

SAME, UNKNOWN = "the same", "unknown"
KINDS = {
    "no version": "Paddle keeps the version in `set_value`, `copy_`, `assign` and additions to a gradient",
    "a version for a shape": "`reshape_`, `flatten_`, `unsqueeze_` write nothing, but raise the version in Paddle",
    "no view groups": "in Paddle a write through a view is unknown to the history of its base",
    "saves other things": "an operation saves other tensors in Paddle",
    "refuses other things": "Paddle writes a leaf before it raises an error, and raises none for a view of a leaf",
    "copies and shares": "only one of the engines copies in `split`, `unbind`, `.T`, `astype` or `x[:]`",
    "one element": "the stride of a dimension with at most one element has no effect",
    "the last digit": "numbers that differ only by rounding",
}


def states(variant: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any], list[str]]]:
    """Yield for each line its number, the value of each name, and the operations that saved stale tensors."""
    for here, memory in after_each_line(variant):
        nodes = memory.nodes
        stale = [save["node"] for save in memory.saved.values() if save["stale"]]
        lines = {nodes[node]["line"] for node in stale if node in nodes}
        yield here, _seen(memory), sorted(f"line {line}" for line in lines)


def _seen(memory: Memory) -> dict[str, Any]:
    found, numbers = {}, {}
    for name, id_ in sorted(memory.names.items()):
        if " " not in name and name != "error":
            tensor = memory.tensors[id_]
            storage = memory.storages[tensor["storage"]]
            found[name] = {
                **{key: tensor[key] for key in ("shape", "strides", "offset", "dtype", "stop_gradient", "leaf")},
                "storage": numbers.setdefault(storage["id"], len(numbers)),
                "cells": {cell: _rounded(text) for cell, text in storage["values"].items()},
                "version": tensor.get("version", storage["version"]),
            }
    return found


def _rounded(text: str) -> str:
    try:
        return f"{float(text):.2g}"
    except ValueError:
        return text


def first_difference(source: str) -> tuple[str, str, Any, Any] | None:
    """Return the first line at which the traces differ, the difference, and both answers, or None."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = [{"paddle": module, "errors": []} for module in (paddle, own)]
        shown = [stage.record(source, each, steps=2000).data["variants"][0] for each in names]
    if shown[0]["truncated"]:
        return "", "ended early", shown[0]["truncated"], ""
    lines = source.splitlines()
    theirs, ours = ({line: rest for line, *rest in states(each)} for each in shown)
    for number in sorted(theirs.keys() | ours.keys()):
        text = lines[number - 1].strip()
        if number not in theirs or number not in ours:
            if text.startswith(("except", "errors", "try")):
                return (
                    lines[number - 2].strip() if text[0] == "e" else text,
                    "refused",
                    number in theirs,
                    number in ours,
                )
            continue
        (seen, stale), (seen_here, stale_here) = theirs[number], ours[number]
        for name in sorted(seen.keys() & seen_here.keys()):
            for key, value in seen[name].items():
                if value != seen_here[name][key]:
                    return text, f"{key} of {name}", value, seen_here[name][key]
        if seen.keys() != seen_here.keys():
            return text, "names", sorted(seen), sorted(seen_here)
        if stale != stale_here:
            return text, "stale", stale, stale_here
    return None


def kind(source: str) -> tuple[str, Any]:
    """Return the kind of the first difference, and its description; ``SAME`` and None if there is none."""
    found = first_difference(source)
    return (SAME, None) if found is None else (_kind(*found), found)


def _kind(text: str, what: str, theirs: Any, ours: Any) -> str:
    key, _, name = what.partition(" of ")
    if key == "refused":
        return "refuses other things"
    if what == "stale":
        return "saves other things"
    if key == "version":
        if name.endswith("grad") or re.search(r"set_value|copy_|assign", text):
            return "no version"
        if re.search(r"reshape_|flatten_|unsqueeze_", text):
            return "a version for a shape"
    if key == "cells" and (name.endswith("grad") or "backward" in text or "grad(" in text):
        return "no view groups"
    if key in ("stop_gradient", "leaf") and re.search(r"_\(|\] =|assign|\[|stop_gradient", text):
        return "no view groups"
    if key == "strides":
        return "one element"
    if key == "storage" and re.search(r"split|unbind|\.T|astype|\[|squeeze|flatten|reshape", text):
        return "copies and shares"
    if key == "names" and "grad" in str((theirs, ours)):
        return "no view groups"
    if key == "cells" and isinstance(theirs, dict) and theirs.keys() == ours.keys():
        both = [(float(theirs[cell]), float(ours[cell])) for cell in ours]
        if all(abs(a - b) <= 0.06 * abs(b) for a, b in both):
            return "the last digit"
    return UNKNOWN


if __name__ == "__main__":
    if np.lib.NumpyVersion(np.__version__) < "2.0.0":
        sys.exit("minitensor needs numpy 2, and Paddle 2.6 needs numpy 1: they cannot be compared in one process.")
    first, last = (int(each) for each in (sys.argv[1:] + ["0"])[:2])
    numbers = range(first, last) if last else range(first)
    kinds: dict[int, tuple[str, Any]] = {}
    for number in numbers:
        source = program(number, gradient=number % 2 == 0)
        found = in_a_child(functools.partial(kind, source))
        kinds[number] = (found, None) if isinstance(found, str) else tuple(found)
    unknown = {number: found for number, (each, found) in kinds.items() if each == UNKNOWN}
    counts = Counter(each for each, _ in kinds.values())
    print(json.dumps({"paddle": paddle.__version__, "programs": len(kinds), **counts, "unknown": unknown}, indent=1))
