"""Test the tables of writes that PyTorch refuses and minitensor accepts: the page on names lists all these writes, and
`explain` reports each of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import minitensor as mt
from book_kit.tables import refusals_table as tables
from memory_stage.explanation.minitensor.pytorch_refusals import SAVES
from minitensor import torch
from tests.support.vocabulary import learners
from tests.support.vocabulary.overwritten import ANSWERED_HERE, FUNCTIONS, RECORD, WRITES, is_missing, recorded_outcome

FACTS = Path(__file__).parents[3] / "facts"
RECORDS = tables.recorded(FACTS)
IN_PLACE = [question for question in RECORDS if question.startswith(tables.IN_PLACE)]
OVERLAPS = [question for question in RECORDS if question.startswith(tables.OVERLAPS)]


def explained(program: str) -> tuple[bool, bool]:
    """Return two flags: if `explain` says that PyTorch would refuse the program, and if minitensor runs it."""
    lines = [line for line in program.splitlines() if not line.startswith(("import", "from"))]
    names = {"torch": torch, "F": torch.nn.functional}
    report = mt.explain(lambda: exec("\n".join(lines), names), catch=True)
    return "PyTorch would refuse here" in " ".join(str(report).split()), report.error is None


@pytest.mark.parametrize("function", FUNCTIONS)
def test_explain_reports_exactly_the_functions_that_save_less_than_in_pytorch(function):
    if is_missing(function):
        pytest.skip("the vocabulary has no such function")
    for write in WRITES:
        record = RECORD[f"{function}, {write}"]
        reported, runs_here = explained(record["program"])
        refused_in_pytorch = recorded_outcome(record) == "refused"
        assert not (refused_in_pytorch and runs_here) or reported, write
        assert not reported or refused_in_pytorch, write


@pytest.mark.parametrize("question", IN_PLACE)
def test_explain_reports_exactly_the_recorded_writes_that_pytorch_refuses(question):
    reported, runs_here = explained(RECORDS[question]["program"])
    refused_in_pytorch = "error" in RECORDS[question]
    assert not (refused_in_pytorch and runs_here) or reported
    assert not reported or refused_in_pytorch


@pytest.mark.parametrize("question", OVERLAPS)
def test_explain_reports_exactly_the_overlapping_writes_that_pytorch_refuses(question):
    reported, runs_here = explained(RECORDS[question]["program"])
    assert runs_here and reported == ("error" in RECORDS[question])


def test_the_table_lists_every_function_that_only_pytorch_refuses():
    listed = {
        f"{kept.asked}, its {what} written"
        for kept in SAVES.values()
        for what in kept.kept
    }  # fmt: skip
    answered = {
        f"{function}, {write}"
        for function, writes in ANSWERED_HERE.items()
        for write in writes
        if write != "both written"
    }
    # The table has no line for norm1, which is norm with another p.
    assert listed == answered - {"norm1, its result written"}


def test_each_line_of_the_table_shows_the_gradient_that_pytorch_computes_without_the_write():
    table = tables.saved_table(RECORDS)
    assert table.count("`RuntimeError: one of the variables needed") == 1
    for kept in SAVES.values():
        right = recorded_outcome(RECORD[f"{kept.asked}, nothing written"])
        lines = [line for line in table.splitlines() if f"`y = {kept.call}`" in line]
        assert len(lines) == len(kept.kept)
        for line in lines:
            assert recorded_outcome({"out": line.split(" | ")[-1]}) == pytest.approx(right, rel=1e-3, abs=1e-6)


def test_writes_that_pytorch_accepts_have_the_same_result_unless_pytorch_is_wrong():
    """PyTorch's result counts as wrong if the same write from a copy of the source has another result."""
    otherwise = [
        question
        for question in OVERLAPS
        if "error" not in RECORDS[question] and learners.differences(f"torch: {question}")
    ]
    assert len(otherwise) > 5
    with_a_copy = {question.replace(".clone()", ""): question for question in OVERLAPS if ".clone()" in question}
    table = tables.unseen_table(RECORDS)
    for question in otherwise:
        right = RECORDS[with_a_copy[question]]["out"].strip()
        assert right != RECORDS[question]["out"].strip()
        assert tables.run(RECORDS[question]["program"]) == right
        assert f"| `{question.removeprefix(tables.OVERLAPS).removesuffix(tables.PRINTED)}` |" in table
    assert len(table.splitlines()) == len(otherwise) + 2


def test_the_table_lists_each_kind_of_tensor_that_pytorch_refuses_to_write():
    table = tables.made_table(RECORDS)
    for what in tables.ORIGINS.values():
        assert f"| {what} |" in table
    # The last column has the gradient that PyTorch computes for an equivalent write that it accepts.
    assert "| `a, b = x.split(1); a.mul_(2)` | one of several views | `tensor([2., 1.])` |" in table
    assert (
        RECORDS[f"{tables.IN_PLACE}a, b = x.tensor_split(2); a.mul_(2){tables.BACKWARD}"]["out"] == "tensor([2., 1.])\n"
    )


def test_the_table_lists_no_line_that_pytorch_accepts():
    with pytest.raises(ValueError, match="PyTorch did not refuse"):
        tables._error_start({"program": "x.add_(1)", "out": ""})
