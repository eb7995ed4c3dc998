"""Test checked exercises: the report for a reader, and the faults that stop the build of the book."""

from __future__ import annotations

import gc
import weakref
from contextlib import contextmanager

import numpy as np
import pytest

import minitensor as mt
from book_kit import check, require
from memory_stage import set_language


def halve(x):
    """Halve a tensor in place and return it. Most tests use this function as the solution."""
    x /= 2
    return x


CASES = [(np.array([2.0, 4.0]),), (np.array([1.0]),)]


def test_a_right_function_passes_and_the_cases_are_unchanged_afterwards():
    report = check(halve, CASES, against=halve)
    assert report.passed and str(report) == "Right. `halve` passes all 2 cases."
    assert CASES[0][0].tolist() == [2.0, 4.0]


def test_an_unfinished_function_gets_a_report_with_the_input_and_both_results():
    def mine(x): ...

    report = check(mine, CASES, against=halve)
    assert str(report).splitlines() == [
        "Not yet. `mine`, case 1 of 2: it returns nothing yet.",
        "  given     x = [2.0, 4.0]",
        "  expected  [1.0, 2.0]",
        "  got       None",
    ]


def test_the_report_is_about_the_first_wrong_case():
    report = check(lambda x: x * 0 + 1, [(np.array([2.0]),), (np.array([6.0]),)], against=lambda x: x / 2)
    assert not report.passed and report.right == 1
    assert (report.given, report.expected, report.got) == ("x = [6.0]", "[3.0]", "[1.0]")


def test_a_copy_instead_of_a_write_to_the_argument_is_reported():
    report = check(lambda x: x / 2, CASES, against=halve)
    assert "after the call, `x` is not as expected" in report.reason
    assert (report.expected, report.got) == ("x = [1.0, 2.0]", "x = [2.0, 4.0]")


def test_a_write_to_an_argument_that_must_not_change_is_reported():
    report = check(halve, CASES, against=lambda x: x / 2)
    assert "after the call, `x` is not as expected" in report.reason


def test_returning_a_copy_of_the_written_argument_is_reported():
    report = check(lambda x: halve(x).copy(), CASES, against=halve)
    assert report.reason == "the values are right, but it returns another object. It should return `x` itself."


def test_returning_the_wrong_argument_is_reported():
    cases = [(np.ones(2), np.ones(2))]
    report = check(lambda x, y: y, cases, against=lambda x, y: x)
    assert report.reason == "the values are right, but it returns another object. It should return `x` itself."
    report = check(lambda x, y: x, cases, against=lambda x, y: x.copy())
    assert report.reason == "the values are right, but it returns `x` itself. It should return another object."


def test_the_report_contains_an_error_of_the_readers_code():
    def mine(x):
        raise KeyError("no <such> key")

    report = check(mine, CASES, against=halve)
    assert report.reason == "it raised an error." and report.got == "KeyError: 'no <such> key'"
    assert "&lt;such&gt;" in report._repr_mimebundle_()["text/html"]


def test_an_error_can_be_the_expected_answer():
    def refuse(x):
        raise ValueError("refused")

    def refuse_otherwise(x):
        raise ValueError("in other words")

    def refuse_after_writing(x):
        x[:] = 0
        raise ValueError("too late")

    assert check(refuse_otherwise, CASES, against=refuse).passed
    assert check(halve, CASES, against=refuse).expected == "ValueError: refused"
    assert "after the call" in check(refuse_after_writing, CASES, against=refuse).reason


@pytest.mark.parametrize(
    ("expected", "got", "reason"),
    [
        (np.ones(2), np.ones(3), "the shape is [3], and should be [2]."),
        (np.ones(2), np.ones(2, "float32"), "the dtype is float32, and should be float64."),
        (np.ones(2), [1.0, 1.0], "a value of type ndarray was expected, not a value of type list."),
        (np.ones(2), np.ones(2) + 1e-3, "the values differ."),
        (np.array([1]), np.array([2]), "the values differ."),
        (1.0, 1.1, "the values differ."),
        (True, 1, "a value of type bool was expected, not a value of type int."),
        ((1, [2, 3]), (1, [2, 4]), "item 1: item 1: the values differ."),
        ([1, 2], [1], "2 items were expected, not 1."),
        ({"a": 1}, {"b": 1}, "the keys differ."),
        ({"a": 1}, {"a": 2}, "entry 'a': the values differ."),
        (None, 1, "None was expected, not a value of type int."),
    ],
)
def test_each_kind_of_difference_is_described_in_the_report(expected, got, reason):
    assert check(lambda: got, [()], against=[expected]).reason == reason


@pytest.mark.parametrize(
    ("expected", "got"),
    [(0.1 + 0.2, 0.3), (np.array([np.nan]), np.array([np.nan])), (1.0, 1), ((1.0, "a"), (1.0, "a")), (None, None)],
)
def test_values_that_a_reader_would_call_equal_are_equal(expected, got):
    assert check(lambda: got, [()], against=[expected]).passed


def test_stop_gradient_is_compared():
    class Stub(np.ndarray):
        stop_gradient = True

    wanting = np.ones(2).view(Stub)
    wanting.stop_gradient = False
    report = check(lambda: np.ones(2).view(Stub), [()], against=[wanting])
    assert report.reason == "stop_gradient is True, and should be False."
    assert report.expected == "[1.0, 1.0] (stop_gradient=False)"


def test_a_false_statement_is_quoted():
    that = {"the result shares the memory of `x`": lambda result, x: np.shares_memory(result, x)}
    assert check(lambda x: x[:1], CASES, that=that).passed
    report = check(lambda x: x[:1].copy(), CASES, that=that)
    assert report.reason == "this does not hold: the result shares the memory of `x`."


def test_a_case_may_be_a_function_that_makes_related_arguments():
    def view_and_base():
        base = np.zeros(3)
        return base[1:], base

    def write(view, base):
        view += 1
        return base.sum()

    assert check(write, [view_and_base], against=[np.float64(2.0)]).passed


def test_a_case_given_as_a_context_manager_is_open_only_during_the_call():
    happened = []

    @contextmanager
    def case():
        happened.append("open")
        try:
            yield (mt.ones([2]),)
        finally:
            happened.append("closed")

    def answer(x):
        happened.append("call")
        return x.scale_(2.0)

    def fails(x):
        raise ValueError("in the answer")

    that = {"the case is closed before the result is checked": lambda *_: happened[-1] == "closed"}
    assert check(answer, cases=[case], that=that).passed and happened == ["open", "call", "closed"]
    for wrong in (fails, None):
        happened.clear()
        assert not check(wrong, cases=[case], that=that).passed and happened == ["open", "closed"]


def test_an_answer_that_is_not_a_function_is_reported():
    assert check(None, CASES, against=halve).reason == "a function was expected, not None."


def test_require_raises_an_error_with_the_report_that_check_returns():
    def mine(x):
        return x

    assert require(halve, CASES, against=halve).passed
    with pytest.raises(AssertionError, match=r"case 1 of 2[\s\S]*given     x = \[2.0, 4.0\]"):
        require(mine, CASES, against=halve)


@pytest.mark.parametrize(
    "badly_written",
    [
        dict(cases=[], against=halve),
        dict(cases=[np.ones(2)], against=halve),
        dict(cases=CASES),
        dict(cases=CASES, against=[1]),
    ],
)
def test_a_badly_written_exercise_is_an_error_even_for_check(badly_written):
    with pytest.raises((TypeError, ValueError)):
        check(halve, **badly_written)


def test_a_check_keeps_no_value_alive():
    class Tracked(np.ndarray):
        pass

    made = []

    def fails(x):
        made.append(weakref.ref(x))
        raise ValueError

    gc.disable()
    try:
        report = check(fails, [lambda: (np.ones(2).view(Tracked),)], against=[1])
        assert not report.passed and made[0]() is None
    finally:
        gc.enable()


@pytest.fixture
def chinese():
    set_language("zh")
    yield
    set_language(None)


@pytest.mark.parametrize(
    ("expected", "got", "reason"),
    [
        (np.ones(2), np.ones(3), "形状是 [3]，应为 [2]。"),
        (np.ones(2), np.ones(2, "float32"), "数据类型是 float32，应为 float64。"),
        (np.ones(2), [1.0, 1.0], "应为 ndarray 类型的值，而不是 list 类型的值。"),
        ((1, [2, 3]), (1, [2, 4]), "第 1 项：第 1 项：数值不同。"),
        ([1, 2], [1], "应有 2 项，而不是 1 项。"),
        ({"a": 1}, {"a": 2}, "键 'a' 的值：数值不同。"),
        (None, 1, "应为 None，而不是 int 类型的值。"),
    ],
)
def test_each_kind_of_difference_is_described_in_chinese(chinese, expected, got, reason):
    assert check(lambda: got, [()], against=[expected]).reason == reason


def test_a_report_is_in_the_language_that_is_set(chinese):
    def halved(x):
        return x / 2

    def other(x):
        return x / 4

    right = check(halved, CASES, against=halved)
    assert str(right) == f"正确。`halved` 通过了全部 {len(CASES)} 个用例。"
    wrong = check(other, CASES, against=halved).as_data()
    assert wrong["word"] == "还没有。" and [label for label, _ in wrong["values"]] == ["输入", "应为", "实际"]
    assert wrong["verdict"] == f"`other`，第 1 个用例（共 {len(CASES)} 个）：数值不同。"
