"""Judge if a program does the same as in the framework, differs for a listed reason, or differs unexpectedly."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from tests.support.vocabulary.programs import differences, running

#: The versions of each framework. A program is right if it does the same as in one of them.
VERSIONS = {"torch": ("torch 2.13.0",), "paddle": ("paddle 2.6.2", "paddle 3.3.1")}


@dataclass(frozen=True)
class Judged:
    """The verdict on a program, and the version from which it differs least."""

    verdict: str
    reason: str
    version: str
    found: dict[str, str]
    here: dict[str, Any]


@cache
def _records() -> dict[str, dict[str, dict[str, Any]]]:
    return running.records()


def judge(vocabulary: str, name: str, program: str) -> Judged:
    """Run the program and compare it with each version's record."""
    here = running.ran(vocabulary, program)
    beside = {
        version: differences.remaining(vocabulary, program, _records()[version][name], here)
        for version in VERSIONS[vocabulary]
    }
    version = min(beside, key=lambda one: (len(beside[one][0]), len(beside[one][1])))
    found, kinds = beside[version]
    if not found:
        verdict = "of a kind" if kinds else "the same"
        return Judged(verdict, ", ".join(kinds), version, found, here)
    for verdict, table in (("on purpose", differences.DELIBERATE), ("not yet", differences.NOT_YET)):
        if name in table[vocabulary]:
            return Judged(verdict, table[vocabulary][name], version, found, here)
    return Judged("unexpected", "", version, found, here)
