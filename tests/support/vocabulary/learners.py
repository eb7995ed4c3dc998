"""Run the questions of facts/learners.json in minitensor: dtypes, copies, modules, warnings, refusals, names.

    python -m tests.support.vocabulary.learners           counts by group
    python -m tests.support.vocabulary.learners "calls"   shows the questions of a group with different answers
    python -m tests.support.vocabulary.learners list      writes learners-not-yet.txt from the current differences

Under PyTorch's names a different error message counts as a difference, unless both errors are a TypeError.
Paddle's messages are not recorded.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import minitensor
from minitensor import torch
from tests.support.vocabulary import learners_on_purpose
from tests.support.vocabulary.programs import differences as programs_differences
from tests.support.vocabulary.programs.running import FACTS, as_at_the_start, recording

RECORDS: dict[str, dict[str, Any]] = {
    version: record["answers"]
    for version, record in json.loads((FACTS / "learners.json").read_text(encoding="utf-8")).items()
}
VERSIONS = {"torch": ("torch 2.13.0",), "paddle": ("paddle 2.6.2", "paddle 3.3.1")}
HAS_BFLOAT16 = importlib.util.find_spec("ml_dtypes") is not None
LIST = Path(__file__).with_name("learners-not-yet.txt")


def questions() -> list[str]:
    """Return all questions, such as "torch: calls: x.topk(2)", except the group "overwritten", which
    test_overwritten.py tests.
    """
    return [
        f"{library}: {question}".replace("\n", "\\n")
        for library, versions in VERSIONS.items()
        for question in RECORDS[versions[0]]
        if not question.startswith("overwritten")
        if HAS_BFLOAT16 or "bfloat16" not in question
    ]


def on_purpose(question: str) -> str | None:
    """Return the reason why the answer to a question differs on purpose; None if it should not differ."""
    return learners_on_purpose.reason(question)


def not_yet() -> list[str]:
    """Return the questions of learners-not-yet.txt."""
    return LIST.read_text(encoding="utf-8").splitlines()


def answer(library: str, program: str) -> dict[str, Any]:
    """Return the result of a question's program in minitensor, in the form of the record."""
    as_at_the_start()
    module = {"torch": torch, "paddle": minitensor}[library]
    for name in re.findall(rf"(?:import|from) ({library}[\w.]*)", program):
        package = "minitensor.torch" if library == "torch" else "minitensor"
        program = re.sub(rf"(import|from) {re.escape(name)}\b", rf"\1 {package}{name[len(library) :]}", program)
    try:
        answered = recording.printed(program, {library: module})
    finally:
        as_at_the_start()
    answered.pop("line", None)
    return answered


def differences(question: str) -> dict[str, str]:
    """Return the differences from the most similar version; an empty dict if the result equals that of a version."""
    library, _, name = question.partition(": ")
    name = name.replace("\\n", "\n")
    here = answer(library, RECORDS[VERSIONS[library][0]][name]["program"])
    found = []
    for version in VERSIONS[library]:
        recorded = RECORDS[version][name]
        less, _ = programs_differences.remaining(library, recorded["program"], recorded, here)
        if "words" in less and here["error"].startswith("TypeError"):
            del less["words"]
        found.append(less)
    return min(found, key=len)


def group(question: str) -> str:
    """Return the group of a question: "torch: calls" for "torch: calls: x.topk(2)"."""
    return ": ".join(question.split(": ")[:2])


def main(arguments: list[str]) -> None:
    found = {question: differences(question) for question in questions()}
    wrong = {question: less for question, less in found.items() if less}
    if arguments == ["list"]:
        known = [question for question in wrong if on_purpose(question) is None]
        LIST.write_text("".join(f"{question}\n" for question in known), encoding="utf-8")
    for question, less in wrong.items():
        if arguments and arguments != ["list"] and arguments[0] in question:
            why = on_purpose(question)
            print(question, *(f"{what}: {text}" for what, text in less.items()), sep="\n    ")
            print(f"    on purpose: {why}" if why else "    not yet")
    asked, otherwise = Counter(map(group, found)), Counter(map(group, wrong))
    missing = Counter(group(question) for question in wrong if on_purpose(question) is None)
    for name, count in asked.items():
        meant = otherwise[name] - missing[name]
        print(f"{name}: {count - otherwise[name]} of {count} the same, {meant} on purpose, {missing[name]} not yet")


if __name__ == "__main__":
    main(sys.argv[1:])
