"""Run programs written for Paddle with `import minitensor as paddle`, and compare them with Paddle's record.

`facts/paddle-programs.json` has their results in Paddle 2.6.2 and 3.3.1. Intended differences are listed below with
their reasons. A test fails if a listed difference no longer exists.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import minitensor

FACTS = Path(__file__).parents[3] / "facts" / "paddle-programs.json"
RECORDS = {version: record["answers"] for version, record in json.loads(FACTS.read_text(encoding="utf-8")).items()}
OLD, NEW = "paddle 2.6.2", "paddle 3.3.1"
BOTH = (OLD, NEW)
NUMBER = re.compile(r"-?\d+\.\d*(?:e[-+]\d+)?")

#: Intended differences: the versions of Paddle, the question, the compared value, minitensor's answer, and the reason.
DIFFERENT = [
    ((OLD,), "add_ with alpha", "error", None, "`add_` has no `alpha` in Paddle 2.6.2, but it has one in 3.3.1"),
    (
        (OLD,),
        "add_ with alpha",
        "x.tolist()",
        [[-4.0, -4.0]],
        "`add_` has no `alpha` in Paddle 2.6.2, but it has one in 3.3.1",
    ),
    (
        BOTH,
        "a step between forward and backward",
        "error",
        "RuntimeError",
        "a step counts as a write; Paddle's second backward silently uses the new weights",
    ),
    (BOTH, "a step between forward and backward", "w.inplace_version", 1, "a step counts as a write"),
    (
        BOTH,
        "a step between forward and backward",
        "w.grad.tolist()",
        [0.0, 0.0, 0.0],
        "the second backward raises an error, so it adds no wrong gradient",
    ),
    (
        BOTH,
        "sin_ on no leaf",
        "a.grad.stop_gradient",
        True,
        "backward() records no graph of its own operations, so the gradient that it stores requires no gradient",
    ),
    (
        BOTH,
        "an optimizer without parameters",
        "error",
        "TypeError",
        "a missing argument is a TypeError here; Paddle raises an AttributeError",
    ),
    (
        (NEW,),
        "cross_entropy",
        "float(loss)",
        pytest.approx(0.2651264),
        "the mean leaves out ignored rows, as in 2.6.2; Paddle 3.3.1 divides by all rows if ignore_index is negative",
    ),
    (
        (NEW,),
        "cross_entropy",
        "x.grad.tolist()",
        pytest.approx(0.11561195),
        "the gradient of that mean (its first element is compared)",
    ),
]


def ran(program: str, expressions: list[str]) -> tuple[str | None, dict[str, object]]:
    """Return the type of the error that the program raised, and the values of the expressions afterwards."""
    names: dict[str, object] = {"paddle": minitensor}
    error = None
    try:
        exec(program, names)
    except Exception as raised:
        error = type(raised).__name__
    return error, {expression: eval(expression, names) for expression in expressions}


def same(here: object, recorded: object) -> bool:
    """True if two answers are equal. Floats, also in lists and texts, may differ in their last digits."""
    if isinstance(here, (list, tuple)) and isinstance(recorded, list):
        return len(here) == len(recorded) and all(map(same, here, recorded))
    if isinstance(here, str) and isinstance(recorded, str) and NUMBER.search(recorded):
        numbers = [[float(number) for number in NUMBER.findall(text)] for text in (here, recorded)]
        return NUMBER.sub("#", here) == NUMBER.sub("#", recorded) and numbers[0] == pytest.approx(numbers[1], rel=2e-6)
    if isinstance(recorded, float) and not isinstance(here, bool):
        return here == pytest.approx(recorded, rel=2e-6, abs=2e-6)
    return here == recorded


def intended_answers(version: str, question: str) -> dict[str, object]:
    """Return the values that deliberately differ from Paddle's, and minitensor's value for each."""
    return {what: here for versions, asked, what, here, _ in DIFFERENT if version in versions and asked == question}


@pytest.mark.parametrize("question", RECORDS[OLD])
@pytest.mark.parametrize("version", BOTH)
def test_a_program_behaves_as_in_paddle(version, question):
    recorded = RECORDS[version][question]
    error, values = ran(recorded["program"], list(recorded["values"]))
    seen = {"error": error, **values}
    reported = {"error": recorded["error"].partition(":")[0] if "error" in recorded else None, **recorded["values"]}
    different = intended_answers(version, question)
    for what, value in seen.items():
        if what not in different:
            assert same(value, reported[what]), f"{what}: {value!r} here, {reported[what]!r} in {version}"
            continue
        assert not same(value, reported[what]), f"{what}: the answers are equal now, so remove the entry from DIFFERENT"
        first = value[0][0] if what == "x.grad.tolist()" and isinstance(value[0], list) else value
        assert first == different[what], what


def test_the_error_about_a_write_to_a_leaf_contains_paddles_message():
    for question in ("scale_ on a leaf", "sin_ on a leaf"):
        words = re.search(r"that doesn't stop gradient can't use inplace strategy", RECORDS[OLD][question]["error"])
        names = {"paddle": minitensor}
        with pytest.raises(ValueError, match=words[0]):
            exec(RECORDS[OLD][question]["program"], names)


def test_a_refused_write_to_a_leaf_changes_nothing():
    names = {"paddle": minitensor}
    with pytest.raises(ValueError):
        exec(RECORDS[OLD]["sin_ on a leaf"]["program"], names)
    assert names["x"].tolist() == [1.0, 2.0, 3.0]
