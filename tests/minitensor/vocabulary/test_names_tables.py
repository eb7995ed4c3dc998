"""Test the appendix on names: every cell runs, and a row has a note exactly if a difference was recorded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import minitensor as mt
from book_kit.tables import names_tables as tables
from minitensor.paddle.names import ASKS, LIBRARIES, ROWS

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "chapters" / "C_names.md"


@pytest.fixture(scope="module")
def records():
    return tables.recorded(ROOT / "facts")


def test_every_library_was_recorded(records):
    assert sorted(title.partition(" ")[0] for title in records) == ["JAX", "NumPy", "Paddle", "Paddle", "PyTorch"]
    assert {"Paddle 2.6.2", "Paddle 3.3.1"} <= set(records)


@pytest.mark.parametrize("row", ROWS, ids=tables.key)
def test_a_row_describes_the_recorded_behaviour(row, records):
    found = tables.answers(row, records)
    assert len(found) > 1 or set(row.cells) == {"minitensor"}
    for title, answer in found.items():
        if "error" not in row.ask:
            assert not answer.error, f"{title} raises {answer.error}"
            assert all(expression in answer.values for expression in row.expressions), title
    assert bool(tables.differing(row, found)) == bool(row.note), tables.differing(row, found)


@pytest.mark.parametrize("row", [row for row in ROWS if "torch" in row.cells], ids=tables.key)
def test_the_cell_of_pytorch_has_the_recorded_result_in_minitensor_or_is_listed_as_missing(row, records):
    found = tables.run(row, "torch")
    wanted = next(answers for title, answers in records.items() if title.startswith("PyTorch"))[tables.key(row)]
    if found.error == "AttributeError" != wanted.error:
        assert f"`{row.shown('torch')}`" in tables.torch_text()
        return
    assert found.error == wanted.error
    assert tables.alike([found.to(ask) for ask in row.ask if ask], [wanted.to(ask) for ask in row.ask if ask])


def test_rows_are_distinct_and_every_question_is_used():
    keys = [tables.key(row) for row in ROWS]
    assert len(set(keys)) == len(keys)
    assert {ask for row in ROWS for ask in row.ask if ask} == set(ASKS)
    assert all(set(row.cells) <= set(LIBRARIES) and "minitensor" in row.cells for row in ROWS)


def test_running_the_cells_leaves_modes_and_device_unchanged():
    before = mt.get_inplace_policy(), mt.get_device(), mt.is_grad_enabled()
    for row in ROWS:
        tables.run(row)
    assert (mt.get_inplace_policy(), mt.get_device(), mt.is_grad_enabled()) == before


def test_a_changed_cell_is_noticed(records, monkeypatch):
    monkeypatch.setitem(ROWS[0].cells, "torch", "torch.tensor([3.0])")
    with pytest.raises(ValueError, match=r"'Making tensors: from numbers' of PyTorch .* record facts/names.json again"):
        tables.recorded(ROOT / "facts")


def test_the_page_shows_every_section_once():
    shown = re.findall(r'names_table\("([^"]+)"\)', PAGE.read_text(encoding="utf-8"))
    assert shown == tables.sections()


def test_all_lines_of_a_table_have_the_same_number_of_cells(records):
    made = [*map(tables.names_table, tables.sections()), tables.differences_table(records), tables.not_here_table()]
    made.append(tables.tutorials_table(ROOT / "facts"))
    for table in made:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


def test_a_row_names_versions_of_paddle_only_if_they_differ(records):
    lines = tables.differences_table(records).splitlines()
    rounding = next(line for line in lines if "| `round` |" in line)
    assert (
        "`[1.0, 2.0, 3.0]`: minitensor, Paddle 2.6.2; `[0.0, 2.0, 2.0]`: Paddle 3.3.1, PyTorch, NumPy, JAX" in rounding
    )
    rebinding = next(line for line in lines if "| `+=` |" in line)
    assert "*is the result x itself?* no: minitensor, Paddle, JAX; yes: PyTorch, NumPy" in rebinding
