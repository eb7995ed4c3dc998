"""Test the tables of the appendix on in-place operations: every name occurs once, with measured or recorded numbers."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest

import minitensor as mt
from book_kit.data import sample_calls
from book_kit.tables import reference_tables as tables
from facts import differences
from minitensor.paddle.left_out import LEFT_OUT

ROOT = Path(__file__).parents[2]
FACTS = ROOT / "facts"
PAGE = ROOT / "chapters" / "A_every_in_place_operation.md"


@pytest.fixture(scope="module")
def entries():
    return tables.entries(FACTS)


def entry(entries, name):
    return next(each for each in entries if each.name == name)


def test_every_name_has_one_line_or_a_reason(entries):
    recorded = json.loads((FACTS / "inplace-apis.json").read_text())["rows"]
    assert sorted([*(each.name for each in entries), *LEFT_OUT]) == sorted(recorded)
    lines = [line for each in LEFT_OUT for line in tables.left_out_table().splitlines() if f"`{each}` |" in line]
    assert len(lines) == len(LEFT_OUT)


def test_the_page_shows_every_group_once():
    shown = re.findall(r'^Markdown\(tables\.\w+\(of\("(\w+)"\)\)\)$', PAGE.read_text(), re.MULTILINE)
    assert sorted(shown) == sorted(tables.GROUPS)


def test_a_row_has_the_rule_the_parameters_and_the_places(entries):
    sin = entry(entries, "sin_")
    assert (sin.signature, sin.gradient, sin.keeps) == ("sin_(x)", "`x: g * cos(x)`", ("its input",))
    assert sin.places == ("paddle.Tensor", "paddle")
    assert entry(entries, "add_").signature == "add_(x, y, *, alpha=1)"
    assert entry(entries, "clamp_").same_as == "clip_" and entry(entries, "clip_").same_as == ""


# The unit is one copy of the input, so one bit for each float32 is 1/32. Paddle's and PyTorch's bytes are recorded.
@pytest.mark.parametrize(
    "name, group, held, paddle, torch",
    [
        ("add_", "nothing", "0", "0", "0"),
        ("exp_", "result", "0", "0", "0"),
        ("clip_", "bits", "1/32", "1", "1"),
        ("abs_", "bits", "1/16", "1", "1"),
        ("sin_", "copy", "1", "1", "1"),
        ("nan_to_num_", "bits", "1/32", "3/4", "1"),
        ("sinc_", "copy", "1", "11/2 (3.3.1)", "–"),
        ("gcd_", "integers", "–", "–", "–"),
    ],
)
def test_a_row_has_the_copies_of_each_library(entries, name, group, held, paddle, torch):
    found = entry(entries, name)
    assert (found.group, found.held, found.paddle, found.torch) == (group, held, paddle, torch)


def test_another_operand_that_requires_a_gradient_is_mentioned(entries):
    assert entry(entries, "multiply_").when == "1 where `y` requires a gradient"
    assert entry(entries, "lerp_").when == "1 where `weight` requires a gradient"
    assert entry(entries, "add_").when == ""


def test_the_bytes_in_a_table_are_measured_by_the_meter():
    x = sample_calls.non_leaf("sin_")
    before = mt.device.cpu.memory_allocated()
    x.sin_()
    held = mt.device.cpu.memory_allocated() - before
    assert sample_calls.copies_held("sin_") == Fraction(held, x.nbytes) == 1
    assert sample_calls.copies_held("gcd_") is None


def test_no_operation_saves_more_bytes_than_it_does_in_the_better_framework(entries):
    for each in entries:
        recorded = [Fraction(text.split()[0]) for text in (each.paddle, each.torch) if text != "–"]
        if recorded and each.held != "–":
            assert Fraction(each.held) <= min(recorded), each.name


def test_policy_2_5_refuses_exactly_the_operations_that_need_their_input(entries):
    refused = {each.name for each in entries if each.group not in ("metadata", "integers") and refuses(each)}
    assert refused == {each.name for each in entries if each.group in ("bits", "copy")}


def refuses(each) -> bool:
    return sample_calls.is_refused(each.name, "2.5")


def test_the_changes_of_an_operation_are_those_of_one_call():
    assert sample_calls.changes("reshape_") == ("stays", "the same", "shape, strides")
    assert sample_calls.changes("cast_") == ("0 → 1", "another", "dtype")
    assert sample_calls.changes("apply_") == ("0 → 1", "the same", "–")
    assert sample_calls.changes("detach_") == ("stays", "the same", "stop_gradient")


def test_all_lines_of_a_table_have_the_same_number_of_cells(entries):
    made = [tables.in_place_table(entries), tables.changes_table([entry(entries, "cast_")])]
    made += [tables.short_table(entries), tables.left_out_table(), tables.differences_table(ROOT / "facts")]
    for table in made:
        bars = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(bars) == 1


def test_a_vertical_bar_in_a_cell_does_not_end_the_cell():
    assert tables.markdown(["a"], [["x | y"]]).splitlines()[-1] == "| x \\| y |"


def test_the_table_of_differences_has_the_reason_of_every_difference():
    table = tables.differences_table(ROOT / "facts")
    assert {each.reason for each in differences.DIFFERENCES} == {
        line.rsplit(" | ", 1)[1].removesuffix(" |") for line in table.splitlines()[2:]
    }


def test_a_line_refers_by_number_to_the_differences_of_its_operation(entries):
    groups = dict(tables.numbered_differences(ROOT / "facts"))
    assert all("`square_`" in groups[number].operations_text for number in entry(entries, "square_").differs)
    assert entry(entries, "square_").differs and not entry(entries, "sin_").differs


def test_the_page_mentions_the_differences_of_nearly_every_operation():
    every = [
        str(number)
        for number, each in tables.numbered_differences(ROOT / "facts")
        if each.operations == differences.EVERY
    ]
    assert f"Numbers {', '.join(every[:-1])} and {every[-1]} apply to nearly every operation" in PAGE.read_text()
