"""Compare norms, distances and their gradients at zeros with facts/norms-at-zero.json.gz."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

import minitensor
from minitensor import torch
from tests.support.vocabulary.programs.running import facts_module

asked = facts_module("norms_at_zero")
RECORDS = asked.recorded()
MODULES: dict[str, Any] = {"torch": torch, "paddle": minitensor}

#: For each reason why a value or a first gradient differs, a pattern of the questions with this difference.
KINDS = {
    "PyTorch's count of elements requires a gradient that cannot be computed": r"torch .*L\.norm\(x, 0[,)]",
    "PyTorch's renorm needs two dimensions and accepts p = inf": r"torch .*L\.renorm",
    "no element is normalized, so no norm is needed": r"torch \[.*0\]: F\.normalize\(x, -",
    "Paddle's gradient at 0 is nan for p below 1; PyTorch's is 0": r"paddle .*(norm|normalize|cdist)\(.*(0\.5|-[12])",
    "Paddle's renorm accepts p below 0 and inf, and has another slope for p = 1": r"paddle .*L\.renorm",
    "Paddle's versions differ for empty tensors and tensors without dimensions": r"paddle (\[.*0.*\]|zero): ",
    "the count of elements is a constant": r"paddle .*(L\.(norm|cdist)|F\.normalize)\(.*, 0[,)]",
}


def numbers(text: str) -> list[float]:
    return [float(each) for each in text.split(" ")[1:]]


def same(then: str, here: str, undefined: bool = False) -> bool:
    """True if two texts agree. With ``undefined``, any number agrees with a recorded nan or inf."""
    if not then.startswith("[") or not here.startswith("["):
        return then.startswith("[") == here.startswith("[") and (then == "constant") == (here == "constant")
    return then.split(" ")[0] == here.split(" ")[0] and all(
        old == new
        or (math.isnan(old) and math.isnan(new))
        or (undefined and not math.isfinite(old))
        or math.isclose(old, new, rel_tol=1e-4, abs_tol=1e-5)
        for old, new in zip(numbers(then), numbers(here), strict=True)
    )


def kind_of(library: str, question: str) -> str | None:
    return next((why for why, pattern in KINDS.items() if re.match(pattern, f"{library} {question}")), None)


@pytest.fixture(scope="module", params=MODULES)
def answers(request: Any) -> tuple[str, dict[str, tuple[list[list[str]], list[str]]]]:
    """Return the library, and the recorded answers and minitensor's for each question whose names minitensor has."""
    library = request.param
    versions = [RECORDS[each] for each in RECORDS if each.startswith(library)]
    found = {}
    for question in asked.questions(library):
        here = asked.answer(library, MODULES[library], question)
        if here != ["AttributeError"]:
            found[question] = ([each[question] for each in versions], here)
    return library, found


def first_differs(then: list[list[str]], here: list[str]) -> bool:
    """True if the value or the first gradient differs from that of every version."""
    return not any(
        len(old[:2]) == len(here[:2]) and all(same(*pair) for pair in zip(old[:2], here[:2], strict=True))
        for old in then
    )


def test_the_records_of_all_versions_contain_the_same_questions():
    assert len(RECORDS) == 3
    for version, answers in RECORDS.items():
        assert list(answers) == asked.questions(version.partition(" ")[0])


def test_values_and_first_gradients_are_those_of_the_framework_or_a_listed_kind(answers: Any):
    library, found = answers
    assert len(found) > 600
    assert {
        question: f"recorded {then}, here {here}"
        for question, (then, here) in found.items()
        if first_differs(then, here) and kind_of(library, question) is None
    } == {}


def test_every_listed_kind_occurs(answers: Any):
    library, found = answers
    kinds = {kind_of(library, question) for question, (then, here) in found.items() if first_differs(then, here)}
    assert {why for why, pattern in KINDS.items() if pattern.startswith(library)} == kinds - {None}


def test_second_gradients_are_those_of_the_framework_where_these_are_finite(answers: Any):
    """At a zero the second derivative does not exist: the frameworks return nan, or numbers that depend on rounding."""
    library, found = answers
    wrong, count = {}, 0
    for question, (then, here) in found.items():
        seconds = [old[2] for old in then if len(old) == 3 and old[2].startswith("[")]
        is_compared = seconds and len(here) == 3 and here[2].startswith("[")
        if is_compared and (not first_differs(then, here) or "renorm" in question):
            count += 1
            if not any(same(old, here[2], undefined=True) for old in seconds):
                wrong[question] = f"recorded {seconds}, here {here[2]}"
    assert count > (100 if library == "torch" else 20) and wrong == {}


def test_gradients_at_zero_are_not_nan(answers: Any):
    found = answers[1]
    assert [
        question
        for question, (_, here) in found.items()
        if len(here) > 1 and here[1].startswith("[") and any(map(math.isnan, numbers(here[1])))
    ] == []
