"""Test that if the input or the result of a function is overwritten, the gradient is right or backward raises an error.

facts/learners.json records for each function the gradient without a write, and PyTorch's behaviour if the input, the
result or both are written. The tables of ``tests.support.vocabulary.overwritten`` list the functions that save other
values in minitensor than in PyTorch.
"""

from __future__ import annotations

import pytest

from tests.support.vocabulary.overwritten import (
    ANSWERED_HERE,
    FUNCTIONS,
    RECORD,
    REFUSED_HERE,
    WRITES,
    is_missing,
    outcome,
    recorded_outcome,
)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_after_a_write_the_gradient_is_right_or_backward_raises(function):
    if is_missing(function):
        pytest.skip("the vocabulary has no such function")
    right = pytest.approx(recorded_outcome(RECORD[f"{function}, nothing written"]), rel=1e-3, abs=1e-6)
    assert outcome(function, "nothing written") == right
    for write in WRITES:
        recorded = recorded_outcome(RECORD[f"{function}, {write}"])
        refused_there = recorded == "refused"
        assert refused_there or recorded == right, "PyTorch's recorded gradient is wrong"
        here = outcome(function, write)
        expected_refused = refused_there != (
            write in ANSWERED_HERE.get(function, ()) or write in REFUSED_HERE.get(function, ())
        )
        assert here == ("refused" if expected_refused else right), write


@pytest.mark.parametrize(("table", "there"), [(ANSWERED_HERE, True), (REFUSED_HERE, False)])
def test_the_tables_list_only_differences_from_pytorch(table, there):
    for function, writes in table.items():
        for write in writes:
            assert (recorded_outcome(RECORD[f"{function}, {write}"]) == "refused") is there, (function, write)
