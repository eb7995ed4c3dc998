"""Compare every operation with the recorded behaviour of Paddle 2.6.2, Paddle 3.3.1 and PyTorch 2.13.0.

facts/goldens contains the records and describes how they were made. ``facts/differences.py`` lists the intended
differences with their reasons. The tests also fail if an entry of that list matches no difference.
"""

from __future__ import annotations

import copy
from functools import cache

import pytest

from facts.differences import DIFFERENCES, EVERY, Difference, reason
from tests.support.conformance.goldens import ALL, CASES, GIVEN, Case, compared, differences, recorded_copies

# ---- every case ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_operation_behaves_as_recorded(case):
    unexpected = {
        seen: text for seen, text in differences(case).items() if reason(case.framework, case.name, seen) is None
    }
    assert not unexpected


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_recorded_situation_is_run_in_minitensor(case):
    reported = set(case.recorded) - GIVEN - {"extra_memory_held_for_backward"}
    if case.framework.startswith("torch"):
        reported.remove("exists_in")  # PyTorch's operations have other names
    assert reported <= set(case.seen)


def test_all_cases_are_compared():
    """The only exceptions are cases that the framework lacks or in which it crashed, and operations that minitensor
    lacks.
    """
    other = [case for case in ALL if case not in CASES]
    assert all(not case.ran or case.left_out for case in other)
    seen = [case for case in CASES for _ in differences(case)]
    facts = sum(len(compared(case)) for case in CASES)
    print(
        f"\n{len(CASES)} of {len(ALL)} cases compared, in {facts} facts; {len(other)} do not exist, crashed or are "
        f"left out\n{len(seen)} facts of {len(set(seen))} cases differ on purpose, for {len(DIFFERENCES)} listed "
        f"reasons"
    )


# ---- differences on purpose ------------------------------------------------------------------------------------------


@cache
def facts_of(framework: str) -> list[tuple[str, str, bool]]:
    """Return the operation, the fact, and True if the fact differs, for each compared fact of a framework's cases."""
    cases = [case for case in CASES if case.framework == framework]
    return [(case.name, what, what in differences(case)) for case in cases for what in compared(case)]


def mistakes(entry: Difference) -> list[str]:
    """Return messages about facts that the entry covers although they are equal or were not compared, and about
    frameworks that the entry names although it covers none of their facts.
    """
    wrong = []
    for framework in entry.frameworks:
        covered = [fact for fact in facts_of(framework) if entry.covers(framework, *fact[:2])]
        wrong += [f"{framework} {name} {what} is equal" for name, what, differs in covered if not differs]
        named = {(name, what) for name in entry.operations if name not in EVERY for what in entry.seen}
        wrong += [
            f"{framework} {name} {what} was not compared" for name, what in named - {each[:2] for each in covered}
        ]
        if not covered:
            wrong.append(f"{framework}: nothing is covered")
    return wrong


@pytest.mark.parametrize(
    "entry", DIFFERENCES, ids=lambda each: f"{each.frameworks[0]}-{each.operations[0]}-{each.seen[0]}"
)
def test_every_listed_difference_exists(entry):
    assert mistakes(entry) == []


def test_no_intended_difference_is_listed_twice():
    for number, entry in enumerate(DIFFERENCES):
        for other in DIFFERENCES[:number]:
            for framework in entry.frameworks:
                both = [f for f in facts_of(framework) if all(e.covers(framework, *f[:2]) for e in (entry, other))]
                assert not both


def test_an_entry_that_covers_too_much_is_found():
    assert mistakes(Difference(("paddle-2.6.2",), ("sin_",), ("nonleaf.version_after",), "no"))
    assert mistakes(Difference(("paddle-2.6.2",), ("sin_",), ("no_such.fact",), "no"))
    assert mistakes(Difference(("paddle-2.6.2",), EVERY, ("leaf_requiring_grad.data_changed",), "not of all"))


# ---- bytes -----------------------------------------------------------------------------------------------------------

HELD = [case for case in CASES if recorded_copies(case) is not None]


@pytest.mark.parametrize("case", HELD, ids=str)
def test_an_in_place_operation_keeps_no_more_bytes_than_the_framework(case):
    assert case.copies_held() <= recorded_copies(case) + 0.01


# ---- the comparison itself -------------------------------------------------------------------------------------------


def case_of(name: str, framework: str = "paddle-2.6.2") -> Case:
    return next(case for case in CASES if (case.name, case.framework) == (name, framework))


# Each entry has a recorded fact of sin_ or exp_, its replacement, and the difference that the comparison has to find.
CHANGES = [
    ("sin_", "nonleaf", "grad_of_sum_wrt_x", [[0.0] * 3] * 2, "nonleaf.grad_of_sum_wrt_x"),
    ("sin_", "nonleaf", "result_is_x", False, "nonleaf.result_is_x"),
    ("sin_", "nonleaf", "tracks_grad_after", False, "nonleaf.tracks_grad_after"),
    ("sin_", "no_grad_tensor", "value", [[0.0] * 3] * 2, "no_grad_tensor.value"),
    ("sin_", "no_grad_tensor", "version_after", 2, "no_grad_tensor.version_after"),
    ("sin_", "no_grad_tensor", "ptr_unchanged", False, "no_grad_tensor.ptr_unchanged"),
    ("sin_", "no_grad_tensor", "shape_after", [3, 2], "no_grad_tensor.shape_after"),
    ("sin_", "no_grad_tensor", "dtype_after", "float64", "no_grad_tensor.dtype_after"),
    ("sin_", "no_grad_tensor", "error", {"type": "ValueError", "first_line": ""}, "no_grad_tensor.error"),
    ("sin_", "out_of_place", "x_untouched", False, "out_of_place.x_untouched"),
    ("sin_", "out_of_place_grad", "grad_of_sum_wrt_x", None, "out_of_place_grad.grad_of_sum_wrt_x"),
    ("sin_", "leaf_requiring_grad", "allowed", True, "leaf_requiring_grad.allowed"),
    ("sin_", "leaf_requiring_grad", "type", "TypeError", "leaf_requiring_grad.type"),
    ("sin_", "leaf_under_no_grad", "still_requires_grad", False, "leaf_under_no_grad.still_requires_grad"),
    ("sin_", "saved_by_earlier_mul", "ok", True, "saved_by_earlier_mul.ok"),
    ("sin_", "then_add_one_in_place", "grad_of_sum_wrt_x", [[0.0] * 3] * 2, "then_add_one_in_place.grad_of_sum_wrt_x"),
    ("exp_", "then_add_one_in_place", "ok", True, "then_add_one_in_place.ok"),
    (
        *("exp_", "saved_by_earlier_mul", "first_line", "Its version is 2 but the expected version is 0."),
        "saved_by_earlier_mul.versions",
    ),
]


@pytest.mark.parametrize("name, situation, what, value, found", CHANGES)
def test_the_comparison_notices_a_difference(name, situation, what, value, found):
    case = case_of(name)
    changed = copy.deepcopy(case.recorded)
    changed[situation][what] = value
    assert set(differences(Case(case.framework, changed))) - set(differences(case)) == {found}


def test_the_comparison_notices_a_missing_function_or_method(monkeypatch):
    case = copy.copy(case_of("sin_"))
    case.recorded = case.recorded | {"exists_in": ["paddle.Tensor", "paddle.nn.functional"]}
    case.__dict__.pop("seen", None)
    assert "exists_in" in differences(case)
