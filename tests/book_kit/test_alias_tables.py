"""Test the tables of shared memory against rows that are known from the libraries' manuals."""

from __future__ import annotations

import pytest

from book_kit.tables import alias_tables as tables
from tests.support.chapters.chapter import ROOT


@pytest.fixture(scope="module")
def records():
    return tables.recorded(ROOT / "facts")


def row(table: str, title: str) -> dict[str, str]:
    """Return the cells of the row with this title, keyed by the headings of their columns."""
    heads, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines())
    found = next(each for each in rows if title in each[0])
    return dict(zip(heads[1:], found[1:], strict=True))


def test_split_is_an_alias_in_pytorch_and_a_copy_in_paddle_and_minitensor(records):
    found = row(tables.operations_table(records), "`split`")
    assert found == {
        "NumPy 2.4.6": "alias", "Paddle 2.6.2, 3.3.1": "copy", "PyTorch 2.13.0": "alias", "minitensor": "copy",
    }  # fmt: skip


def test_x_numpy_shares_memory_in_pytorch_and_copies_it_in_paddle(records):
    found = row(tables.numpy_table(records), "`x.numpy()`")
    assert found["PyTorch 2.13.0"] == "alias" and found["Paddle 3.3.1"] == found["minitensor"] == "copy"


def test_the_table_of_targets_says_if_a_version_counts_the_write(records):
    found = row(tables.targets_table(records), "out=y")
    assert found["Paddle 3.3.1"] == "in place, not counted" and found["PyTorch 2.13.0"] == "in place, counted"


def test_wrong_numbers_are_bold_and_a_refusal_is_not(records):
    table = tables.overlaps_table(records)
    assert row(table, "subtract_(x[0])")["Paddle 2.6.2, 3.3.1"] == "**0 2 3 4 5**".replace(" ", "\N{NO-BREAK SPACE}")
    assert row(table, "subtract_(x[0])")["PyTorch 2.13.0"] == "refuses"
    assert {row(table, each)["minitensor"] for each in ("add_", "[1:] =", "[0])", "[::2]", "[:, 2]")} == {"right"}


def test_an_expanded_tensor_is_a_copy_in_minitensor_and_an_alias_in_pytorch(records):
    found = row(tables.expanded_table(records), "fill_")
    assert "`x`\N{NO-BREAK SPACE}[1,\N{NO-BREAK SPACE}2]" in found["minitensor"]
    assert "`x`\N{NO-BREAK SPACE}[7,\N{NO-BREAK SPACE}7]" in found["PyTorch 2.13.0"]
