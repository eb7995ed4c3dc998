"""Compare a program's result in minitensor with PyTorch's, and name the kind of each difference.

The kind follows from the difference and never from the number of the program. A difference without a kind is UNKNOWN
and counts as a fault.
"""

from __future__ import annotations

import gzip
import json
import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minitensor import torch

from . import running
from .generator import Line, program

FILE = Path(__file__).parents[4] / "facts" / "alias-programs.json.gz"
#: The relative tolerance for float32 results of operations in another order.
TOLERANCE = 1e-3

SAME, REFUSED, UNKNOWN = "the same", "both refuse", "unknown"
#: The kinds of intended differences, with the reasons.
KINDS = {
    "a write that reads its own memory": "PyTorch refuses a write that reads its own memory, or saves the overwritten "
    "values; minitensor reads first",
    "one of several views": "PyTorch refuses a write into a result of `chunk`, `split`, `unbind`; minitensor does not",
    "a view made under no_grad": "PyTorch refuses a write into it; in minitensor it is a detached alias",
    "needs less": "`log_softmax` and `std` save less in minitensor, so more may be overwritten",
    "an expanded gradient": "the result of `grad` may be expanded in PyTorch, so that it cannot be written",
    "saved, then detached": "PyTorch refuses to use a saved tensor after `detach_`; minitensor uses its numbers",
    "expanded": "minitensor refuses every write through a tensor whose elements share memory; PyTorch accepts some of "
    "these writes",
    "all or nothing": "in minitensor, a backward that raises changes no gradient; in PyTorch it may have changed some",
    "another reason": "both refuse the same line, which has several faults, and report different ones",
    "a view refused as a leaf": "after requires_grad_ on its base, PyTorch refuses a write into a view as if it were a "
    "leaf, although its `is_leaf` is false",
}
#: For each rule of PyTorch that an accepted spelling avoids, the kind of the difference.
OF_RULE = {
    "reads what it writes": "a write that reads its own memory",
    "several views": "one of several views",
    "a view made under no_grad": "a view made under no_grad",
    "needs less": "needs less",
    "a gradient that is expanded": "an expanded gradient",
    "detach_": "saved, then detached",
}
#: For each kind of PyTorch's errors, the kind of the difference.
OF_ERROR = {
    "several views": "one of several views",
    "view made under no_grad": "a view made under no_grad",
    "overlap": "a write that reads its own memory",
    "saved and detached": "saved, then detached",
    "expanded": "an expanded gradient",
}
Result = dict[str, Any]


@dataclass(frozen=True)
class Judged:
    """The verdicts on one program (SAME, REFUSED, UNKNOWN, or names of kinds), and its differences without a kind."""

    verdicts: tuple[str, ...]
    lines: list[Line] = field(repr=False)
    left: list[tuple[str, Any, Any]] = field(default_factory=list)


def record() -> dict[str, Any]:
    """Return PyTorch's record: a description of how it was made, and a result for each program."""
    return json.loads(gzip.decompress(FILE.read_bytes()))


def here(lines: list[str]) -> Result:
    try:
        return running.run(torch, lines)
    finally:
        torch.set_grad_enabled(True)


def judge(number: int, recorded: dict[str, Result]) -> Judged:
    """Run the program in minitensor and compare it with PyTorch's record."""
    lines = program(number)
    seen = here([line.text for line in lines])
    written = recorded["as written"]
    found = differences(written, seen)
    if not found:
        return Judged((REFUSED if "error" in seen else SAME,), lines)
    kinds: list[str] = []
    if "as accepted" in recorded:
        other = differences(recorded["as accepted"], seen)
        if not unexplained(lines, recorded["as accepted"], seen, other)[1] or len(other) < len(found):
            kinds = rules_of_refusal(lines, written, seen)
            found, written = other, recorded["as accepted"]
    more, left = unexplained(lines, written, seen, found)
    if left:
        return Judged((UNKNOWN,), lines, left)
    return Judged((*kinds, *more), lines)


def rules_of_refusal(lines: list[Line], written: Result, seen: Result) -> list[str]:
    """Return the kind of difference that PyTorch's error identifies. If it identifies none, return the kinds of all
    lines that minitensor ran and that have a second spelling.
    """
    refused = written.get("error", [0, "", ""])[2]
    if refused in OF_ERROR:
        return [OF_ERROR[refused]]
    ran = lines if "error" not in seen else lines[: seen["error"][0] + 1]
    rules = {OF_RULE[line.rule] for line in ran if line.accepted}
    only_seen = {"a view made under no_grad", "one of several views"}  # PyTorch's error always names these two
    return sorted(rules - only_seen) or sorted(rules)


def differences(recorded: Result, seen: Result) -> list[tuple[str, Any, Any]]:
    """Return the differences in the error and in the record of each name."""
    found = []
    if recorded.get("error") != seen.get("error"):
        found.append(("error", recorded.get("error"), seen.get("error")))
    for part in ("names", "gradients", "kept"):
        for name in sorted({*recorded[part], *seen[part]}):
            pair = recorded[part].get(name, "absent"), seen[part].get(name, "absent")
            if not same(*pair) and not refuses_is_leaf(pair[0]):
                found.append((f"{part} {name}", *pair))
    return found


def refuses_is_leaf(recorded: Any) -> bool:
    """True if PyTorch refuses even `is_leaf` on one of several views after a write to one of them."""
    return isinstance(recorded, list) and recorded == ["several views"]


def same(recorded: Any, seen: Any) -> bool:
    if isinstance(recorded, list) and isinstance(seen, list):
        return len(recorded) == len(seen) and all(map(same, recorded, seen))
    if isinstance(recorded, float) and isinstance(seen, float):
        if math.isnan(recorded) or math.isnan(seen) or math.isinf(recorded) or math.isinf(seen):
            return str(recorded) == str(seen)
        return abs(recorded - seen) <= TOLERANCE * max(abs(recorded), abs(seen), 1.0)
    return type(recorded) is type(seen) and recorded == seen


def unexplained(
    lines: list[Line], recorded: Result, seen: Result, found: list[tuple[str, Any, Any]]
) -> tuple[list[str], list[tuple[str, Any, Any]]]:
    """Return the kinds of the differences, and the differences without a kind."""
    wanted, got = recorded.get("error"), seen.get("error")
    if got and got[2] == "expanded" and wanted != got and writes_expanded(lines, got[0]):
        return ["expanded"], []  # PyTorch executed the line that minitensor refused, so everything after it may differ
    kinds, left = [], []
    for what, theirs, ours in found:
        kind = kind_of(what, theirs, ours, lines, recorded, seen)
        (left.append((what, theirs, ours)) if kind is None else kinds.append(kind))
    if "a view refused as a leaf" in kinds or "needs less" in kinds:
        left = []  # minitensor executed the line that PyTorch refused, so everything that follows may differ
    return sorted(set(kinds)), left


def kind_of(what: str, theirs: Any, ours: Any, lines: list[Line], recorded: Result, seen: Result) -> str | None:
    part, _, _name = what.partition(" ")
    wanted, got = recorded.get("error"), seen.get("error")
    if part == "error":
        if theirs and ours and theirs[:2] == ours[:2] and {theirs[2], ours[2]} in REASONS:
            return "another reason"
        if theirs and theirs[2] == "leaf" and calls_no_leaf(lines[theirs[0]].text, recorded):
            return "a view refused as a leaf"
        if theirs and theirs[2] == "stale" and (ours is None or ours[0] > theirs[0]) and writes_a_std(lines):
            return "needs less"
        return None
    if part == "gradients" and wanted and wanted == got and "backward" in lines[wanted[0]].text and theirs != "absent":
        return "all or nothing"
    return None


REASONS = ({"stale", "freed"}, {"several views", "view of a leaf"}, {"several views", "expanded"})


def writes_a_std(lines: list[Line]) -> bool:
    """True if a line writes a result of ``std``. PyTorch saves this result, and minitensor does not need it for
    backward.
    """
    results = {match[1] for line in lines if (match := re.match(r"(\w+) = \w+\.std\(\)", line.text))}
    return any(target(line.text) in results for line in lines if re.search(r"_\(| [-+*/]= |\] = ", line.text))


def target(line: str) -> str:
    """Return the name of the tensor that a line writes."""
    match = re.match(r"(?:with torch\.no_grad\(\): )?(\w+)", line)
    assert match
    return match[1]


def calls_no_leaf(line: str, recorded: Result) -> bool:
    """True if PyTorch's record says that the written tensor requires a gradient and is not a leaf."""
    return recorded["names"].get(target(line), [None] * 4)[3] == "wants"


def writes_expanded(lines: list[Line], number: int) -> bool:
    """True if the tensor that line `number` writes has elements that share memory."""
    space: dict[str, Any] = {"torch": torch}
    for line in lines[:number]:
        exec(line.text, space)
    written = space[target(lines[number].text)]
    return any(stride == 0 and size > 1 for stride, size in zip(written.stride(), written.shape, strict=True))
