"""The table of public reports: for each program Python's error, and the lines that anomaly mode and ``explain`` name.

All answers are read from ``facts/public-reports.json``. ``facts/public_reports.py`` records them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from book_kit.data.library_names import NAMES
from book_kit.tables.reference_tables import markdown
from book_kit.tables.table_words import translated
from memory_stage.messages import Text, joined, message, said

MOST_LETTERS = 60  # the largest number of characters of an error

HEADS: tuple[Text, ...] = (
    message("Program"),
    message("Python says"),
    message("Line to blame"),
    message("Anomaly mode"),
    "`explain`",
    message("Fix"),
)
FIXES: dict[str, Text] = {"edit": "diff", "words": message("words"), "": "-"}


@dataclass(frozen=True)
class PublicReports:
    """Recorded explanations of public reports, for one version of each framework.

    Attributes:
        records: the answers, keyed by the version of the framework.
    """

    records: Mapping[str, Mapping[str, Any]]

    @classmethod
    def read(cls, file: str | Path) -> PublicReports:
        """Read a record.

        Raises:
            FileNotFoundError: if there is no record.
        """
        return cls(json.loads(Path(file).read_text(encoding="utf-8")))

    def table(self) -> str:
        """Return a table with one row for each program."""
        heads = [said(head) for head in HEADS]
        rows = [
            (
                said(
                    message(
                        "{program} ({library})", program=translated(title_of(name)), library=library_of(name, record)
                    )
                ),
                _error(answer["error"]),
                str(answer["line"]),
                _line(answer["anomaly mode"]),
                str(answer["line"]) if answer["is named"] else "-",
                said(FIXES[answer["fixes"]]),
            )
            for record in self.records.values()
            for name, answer in record["answers"].items()
        ]
        return markdown(heads, rows)

    def summary(self) -> str:
        """Return a sentence with the totals of the table, and with the versions."""
        answers = [answer for record in self.records.values() for answer in record["answers"].values()]
        named = sum(answer["is named"] for answer in answers)
        edits = sum(answer["fixes"] == "edit" for answer in answers)
        anomaly = sum(answer["anomaly mode"] == answer["line"] for answer in answers)
        asked = sum(answer["anomaly mode"] is not None for answer in answers)
        summary = message(
            "{versions}: `explain` names the line to blame in {named} of {programs} programs, and for {edits} it gives "
            "a diff that was applied and run. Anomaly mode names that line in {anomaly} of {asked} programs.",
            versions=joined(f"{NAMES[each['library']]} {each['version']}" for each in self.records.values()),
            programs=len(answers),
            named=named,
            edits=edits,
            anomaly=anomaly,
            asked=asked,
        )
        return said(summary)


def title_of(name: str) -> str:
    """Return the title of a program, such as "residual added in place" for ``o03_residual_added_in_place``."""
    return name.partition("_")[2].replace("_", " ")


def library_of(name: str, record: Mapping[str, Any]) -> str:
    """Return the library that a program uses. PyTorch's record also has NumPy's programs. Their names begin with n."""
    return NAMES["numpy" if name.startswith("n") else record["library"]]


def _error(error: str) -> str:
    if not error:
        return said(message("no error"))
    words = error if len(error) <= MOST_LETTERS else f"{error[:MOST_LETTERS].rpartition(' ')[0]} ..."
    return f"`{words}`"


def _line(number: int | None) -> str:
    """Return the line that anomaly mode names: "-" for 0 (none), and "" for None (the library has no such mode)."""
    return "" if number is None else str(number or "-")
