"""Runs the programs of facts/gradients.json here and compares what becomes of `.grad`.

A look of the record holds the gradient, whether it wants a gradient itself, and of the gradient that the program kept
before: its numbers, and whether it is the same object at the same address. Versions are compared in PyTorch's
vocabulary, from where the gradient was first seen: where its count begins tells only whether PyTorch made a copy.

python -m tests.vocabulary.gradients        shows what differs
python -m tests.vocabulary.gradients list   writes gradients-not-yet.txt anew, from what differs now
"""

from __future__ import annotations

import json
import math
import sys
import warnings
from pathlib import Path
from typing import Any

import minitensor
from minitensor import torch
from tests.vocabulary.programs.running import FACTS, facts_module

asked = facts_module("gradients")
RECORDS: dict[str, dict[str, Any]] = {
    version: record["answers"]
    for version, record in json.loads((FACTS / "gradients.json").read_text(encoding="utf-8")).items()
}
#: A program that does what one of the versions does is right.
VERSIONS = {"torch": ("torch 2.13.0",), "paddle": ("paddle 2.6.2", "paddle 3.3.1")}
LIST = Path(__file__).with_name("gradients-not-yet.txt")
Steps = list[dict[str, Any]]

#: What is not compared in Paddle's vocabulary, and why.
OF_PADDLE = {
    "version": "every write counts; Paddle adds to a gradient without counting",
    "kept version": "the same",
    "same object": "Paddle makes a new object at every look at `x.grad`",
    "x.grad is x.grad": "the same",
    "one object": "the same",
    "wants gradient": "a gradient wants none itself here; in Paddle that of a leaf does, though nothing was recorded",
    "strides": "Paddle 2.6.2 has none to look at",
}
#: Vocabulary and question: why it differs on purpose.
DELIBERATE = {
    "paddle: a gradient of another shape assigned": "a gradient has the shape of its tensor",
    "paddle: a gradient of another dtype assigned": "a gradient has the dtype of its tensor",
    "paddle: a number assigned": "TypeError, for an argument of the wrong type",
    "paddle: del x.grad": "in Paddle the process dies",
    "torch: an arriving gradient that nobody keeps": "whether memory that nobody else has is taken over or copied",
}


def questions() -> list[str]:
    """ "torch: repeated backward" and the like."""
    return [f"{library}: {question}" for library, versions in VERSIONS.items() for question in RECORDS[versions[0]]]


def not_yet() -> list[str]:
    """The questions that are known to be answered wrongly here."""
    return LIST.read_text(encoding="utf-8").splitlines()


def ran(library: str, program: str) -> tuple[Steps, str]:
    """The steps of a program that is run here, and the type of its error."""
    names: dict[str, Any] = {library: {"torch": torch, "paddle": minitensor}[library]}
    look, note, steps = asked.looks(names)
    names |= {"look": look, "note": note}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(program, names)
        except Exception as error:
            return steps, type(error).__name__
    return steps, "none"


def differences(question: str) -> list[str]:
    """What differs from the version that differs least; nothing where all is the same."""
    library, _, name = question.partition(": ")
    steps, error = ran(library, RECORDS[VERSIONS[library][0]][name]["program"])
    found = []
    for version in VERSIONS[library]:
        recorded = RECORDS[version][name]
        wanted = recorded.get("error", "none").partition(":")[0]
        less = [] if wanted == error else [f"error: {recorded.get('error', 'none')}, here {error}"]
        pairs = zip(comparable(library, recorded.get("steps", [])), comparable(library, steps), strict=False)
        less += [text for pair in pairs for text in apart(*pair)]
        if len(recorded.get("steps", [])) != len(steps) and not less:
            less.append(f"{len(recorded['steps'])} steps, here {len(steps)}")
        found.append(less)
    return min(found, key=len)


def comparable(library: str, steps: Steps) -> Steps:
    """The steps, with versions counted from the first look at a gradient, and without what OF_PADDLE names."""
    rows = [dict(step) for step in steps]
    first: dict[str, int] = {}
    for row in rows:
        if library == "paddle":
            for name in OF_PADDLE:
                row.pop(name, None)
            continue
        if not row.get("same memory", True):
            first.pop("version", None)
        for name in ("version", "kept version"):
            if name in row:
                row[name] -= first.setdefault(name, row[name])
    return rows


def apart(recorded: dict[str, Any], here: dict[str, Any]) -> list[str]:
    """The parts of a look that differ. Paddle may leave a gradient that somebody holds without memory: not followed."""
    return [
        f"{recorded.get('after', 'noted')}: {part} {recorded.get(part)!r}, here {here.get(part)!r}"
        for part in {**recorded, **here}
        if recorded.get(part) != "no memory" and not same(recorded.get(part), here.get(part))
    ]


def same(recorded: Any, here: Any) -> bool:
    """Equal; floats to six figures."""
    if isinstance(recorded, (list, tuple)) and isinstance(here, (list, tuple)):
        return len(recorded) == len(here) and all(map(same, recorded, here))
    if isinstance(recorded, float) and isinstance(here, float):
        return math.isclose(recorded, here, rel_tol=1e-6, abs_tol=1e-6)
    return type(recorded) is type(here) and recorded == here


def main(arguments: list[str]) -> int:
    """The number of questions that are answered otherwise here, beyond those on purpose."""
    found = {question: differences(question) for question in questions() if question not in DELIBERATE}
    wrong = {question: less for question, less in found.items() if less}
    if arguments == ["list"]:
        LIST.write_text("".join(f"{question}\n" for question in wrong), encoding="utf-8")
    else:
        for question, less in wrong.items():
            print(question, *less, sep="\n    ")
    print(f"{len(found) - len(wrong)} the same, {len(wrong)} otherwise, {len(DELIBERATE)} on purpose")
    return len(wrong)


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 100))
