"""Rerun the recorded programs of minitensor and numpy, and run the replacements that the tables show."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy
import pytest

import minitensor
import minitensor.torch
from book_kit.data.library_names import NAMES
from book_kit.tables import error_tables
from book_kit.tables.error_tables import MessageRow, core, said_now
from memory_stage.messages import language, render

ROOT = Path(__file__).resolve().parents[2]
ROWS = error_tables.recorded(ROOT)
STARTS = error_tables.starts(ROOT)
#: The module that runs each library's programs. minitensor runs those of Paddle, and `minitensor.torch` those of
#: PyTorch.
HERE = {"minitensor": minitensor, "numpy": numpy, "paddle": minitensor, "torch": minitensor.torch}

REPLACEMENTS = {program for row in ROWS for program in row.instead}

#: Replacements that do not run in minitensor, each with the argument or the class that minitensor lacks.
NOT_HERE = {
    "i.div_(2, rounding_mode='floor')": "no rounding_mode",
    **{row: "no DistributedDataParallel" for row in REPLACEMENTS if "DistributedDataParallel" in row},
}


def of(*libraries: str) -> list[MessageRow]:
    return [row for row in ROWS if row.library in libraries]


def names(row: MessageRow) -> dict:
    return {row.library: HERE[row.library]}


def test_the_record_contains_messages_of_all_five_libraries():
    counts = {library: len(of(library)) for library in ("torch", "paddle", "numpy", "cupy", "minitensor")}
    assert len(ROWS) >= 40 and min(counts.values()) >= 4, counts


@pytest.mark.parametrize("row", of("minitensor"), ids=lambda row: row.program)
def test_a_program_of_minitensor_raises_the_recorded_message(row):
    said = said_now(STARTS[row.library], row.program, names(row))
    kind, _, text = row.message.partition(": ")
    assert said is not None
    assert core(said) == core(f"{kind.rpartition('.')[2]}: {text}"), "run again: python facts/messages.py minitensor"


@pytest.mark.parametrize("row", of("numpy"), ids=lambda row: row.program)
def test_a_program_of_numpy_still_raises_an_error(row):
    """The error's words depend on numpy's version."""
    assert said_now(STARTS[row.library], row.program, names(row)) is not None


@pytest.mark.parametrize(
    "row, program",
    [(row, program) for row in of(*HERE) for program in row.instead],
    ids=lambda value: value if isinstance(value, str) else value.library,
)
def test_the_replacement_of_a_program_runs_without_an_error(row, program):
    said = said_now(STARTS[row.library], program, names(row))
    assert (said is not None) == (program in NOT_HERE), said


def test_every_message_has_a_replacement_unless_memory_ran_out():
    assert {row.cause for row in ROWS if not row.instead} == {"memory"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.program)
def test_the_programs_are_valid_python_of_at_most_six_lines(row):
    for program in (row.program, *row.instead):
        compile(program, "program", "exec")
        assert len(program.splitlines()) <= 6


def test_the_programs_in_the_record_are_in_the_list_of_programs(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "facts"))
    from message_programs import PROGRAMS

    known = {
        library: {entry[0] for entries in causes.values() for entry in entries} for library, causes in PROGRAMS.items()
    }
    records = json.loads((ROOT / "facts" / "messages.json").read_text(encoding="utf-8"))
    for record in records.values():
        if "library" in record:
            assert {entry["program"] for entry in record["messages"]} <= known[record["library"]]


def test_the_source_of_a_message_is_stated_in_chinese_in_the_chinese_search():
    texts = {render(error_tables.recorded_from(row), language("zh")) for row in ROWS}
    words = {word for text in texts for word in re.findall("[A-Za-z]+", text)}
    assert words <= set(NAMES.values()) and len(texts) > 10
