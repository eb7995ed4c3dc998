"""Compare 5,000 random programs of aliases and in-place writes with PyTorch: each result is equal, or its difference
has a named kind.

python -m tests.support.vocabulary.aliases      counts the differences and shows one
"""

from __future__ import annotations

import copy
import hashlib
from collections import Counter

import pytest

from tests.support.vocabulary.aliases import judging
from tests.support.vocabulary.aliases.generator import COUNT, program

RECORD = judging.record()


@pytest.fixture(scope="module")
def verdicts() -> list[judging.Judged]:
    return [judging.judge(number, RECORD["answers"][number]) for number in range(COUNT)]


@pytest.fixture(scope="module")
def counts(verdicts: list[judging.Judged]) -> Counter[str]:
    return Counter(verdict for judged in verdicts for verdict in judged.verdicts)


def test_the_record_contains_the_generated_programs():
    lines = [line for number in range(COUNT) for line in program(number)]
    text = "\n".join(f"{line.text}|{line.accepted}" for line in lines)
    assert RECORD["programs"] == COUNT == 5_000
    assert RECORD["sha256"] == hashlib.sha256(text.encode()).hexdigest()


def test_every_difference_has_a_named_kind(verdicts):
    unknown = [
        (len(judged.lines), number, judged)
        for number, judged in enumerate(verdicts)
        if judging.UNKNOWN in judged.verdicts
    ]
    if unknown:
        _, number, judged = min(unknown, key=lambda one: one[:2])
        text = "\n".join(line.text for line in judged.lines)
        pytest.fail(f"{len(unknown)} programs. The shortest, number {number}:\n{text}\n{judged.left}")


def test_most_alias_programs_have_the_same_result_or_are_refused_as_in_pytorch(counts):
    assert counts[judging.SAME] >= 1_900
    assert counts[judging.REFUSED] >= 1_500


@pytest.mark.parametrize("kind", judging.KINDS)
def test_every_kind_of_difference_from_pytorch_occurs(counts, kind):
    assert counts[kind], "no program differs in this way any longer, so remove the kind from KINDS"


# ---- the judge itself -----------------------------------------------------------------------------------------------


def first(verdicts: list[judging.Judged], verdict: str) -> int:
    """Return the number of the first program that has only this verdict, and a recorded gradient of x."""
    return next(
        number
        for number, judged in enumerate(verdicts)
        if judged.verdicts == (verdict,) and RECORD["answers"][number]["as written"]["gradients"].get("x")
    )


def changed(number: int, change: str) -> dict[str, judging.Result]:
    """Return PyTorch's recorded results of a program, with one fact of each result changed."""
    answer = copy.deepcopy(RECORD["answers"][number])
    for recorded in answer.values():
        name = max(recorded["names"])
        if change == "a number":
            recorded["names"][name][0][0] += 0.1
        elif change == "a version":
            recorded["names"][name][2] += 1
        elif change == "a shape":
            recorded["names"][name][1] = [7]
        elif change == "a flag":
            recorded["names"][name][3] = "another flag"
        elif change == "a gradient":
            recorded["gradients"]["x"][0][0] += 0.1
        elif change == "a name":
            del recorded["names"][name]
        elif change == "the line of the error":
            recorded["error"][0] += 1
        elif change == "the kind of the error":
            recorded["error"][2] = "of another kind"
        elif change == "no error":
            recorded.pop("error", None)
        elif change == "an error":
            recorded["error"] = [1, "RuntimeError", "stale"]
    return answer


@pytest.mark.parametrize("change", ["a number", "a version", "a shape", "a flag", "a gradient", "a name", "an error"])
def test_a_changed_result_in_pytorchs_record_is_noticed(verdicts, change):
    number = first(verdicts, judging.SAME)
    assert judging.judge(number, RECORD["answers"][number]).verdicts == (judging.SAME,)
    assert judging.judge(number, changed(number, change)).verdicts == (judging.UNKNOWN,)


@pytest.mark.parametrize("change", ["the line of the error", "the kind of the error", "no error", "a number"])
def test_a_changed_error_in_pytorchs_record_is_noticed(verdicts, change):
    number = first(verdicts, judging.REFUSED)
    assert judging.judge(number, changed(number, change)).verdicts == (judging.UNKNOWN,)
