"""Judge whether a program does the same in minitensor as in the framework, or differs in a listed way."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from tests.support.vocabulary.programs import differences, running

#: The versions of each framework. minitensor is right if it runs a program as one of these versions does.
VERSIONS = {"torch": ("torch 2.13.0",), "paddle": ("paddle 2.6.2", "paddle 3.3.1")}


@dataclass(frozen=True)
class Judged:
    """The verdict on a program.

    Attributes:
        verdict: "the same", "differs in a listed way", "on purpose", "not yet" or "unexpected".
        reason: the listed reason of the difference; an empty text if there is none.
        version: the version of the framework from which minitensor differs least.
        found: maps a place in the record of that version to its difference, if no listed kind explains it.
        ours: what the program did in minitensor.
    """

    verdict: str
    reason: str
    version: str
    found: dict[str, str]
    ours: dict[str, Any]


@cache
def _records() -> dict[str, dict[str, dict[str, Any]]]:
    return running.records()


def judge(vocabulary: str, name: str, program: str) -> Judged:
    """Run the program and compare it with each version's record."""
    ours = running.ran(vocabulary, program)
    differing = {
        version: differences.remaining(vocabulary, program, _records()[version][name], ours)
        for version in VERSIONS[vocabulary]
    }
    version = min(differing, key=lambda each: (len(differing[each][0]), len(differing[each][1])))
    found, kinds = differing[version]
    if not found:
        verdict = "differs in a listed way" if kinds else "the same"
        return Judged(verdict, ", ".join(kinds), version, found, ours)
    for verdict, table in (("on purpose", differences.DELIBERATE), ("not yet", differences.NOT_YET)):
        if name in table[vocabulary]:
            return Judged(verdict, table[vocabulary][name], version, found, ours)
    return Judged("unexpected", "", version, found, ours)
