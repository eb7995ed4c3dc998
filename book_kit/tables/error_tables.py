"""The tables of the appendix on errors: each message, who says it, the shortest program, and what to write instead.

All of it comes from ``facts/messages.json``, where the programs of other libraries were recorded; the title and the
prose of a cause come from ``book/causes.json``. The programs of minitensor run again when a table is made, so that its
messages are those of today.
"""

from __future__ import annotations

import contextlib
import json
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import minitensor as mt
from book_kit.data.library_names import NAMES

LONGEST = 420  # characters of a message; what is longer is advice about the library's own calls
HEADS = ("Message", "From", "The shortest program", "Write instead")

#: What differs in numbers only, or in the place inside the library, is one message.
CHANGES = re.compile(r"\s*\(at /\S+\)|\bpaddle\.Size\b|\d[\d,.]*")


@dataclass
class Row:
    """One message.

    Attributes:
        cause: a key of ``book/causes.json``.
        library: ``"torch"``, ``"paddle"``, ``"numpy"``, ``"cupy"`` or ``"minitensor"``.
        message: as it was recorded, whole.
        program: what raises it, after the start of its library.
        instead: what to write in place of the program, by what was meant.
        source: the address of the report or of the library's source, where nothing was run, or "".
        reported: the day of that report, or "".
        versions: of the library, where the program was run.
    """

    cause: str
    library: str
    message: str
    program: str
    instead: list[str]
    source: str = ""
    reported: str = ""
    versions: list[str] = field(default_factory=list)

    @property
    def ran(self) -> bool:
        """Whether the message came from a run of the program."""
        return not self.source


def core(message: str) -> str:
    """A message without what differs from run to run."""
    return CHANGES.sub("#", message)


def recorded(root: Path) -> list[Row]:
    """The different messages, in the order of the record, libraries of users first."""
    found: dict[tuple[str, str], Row] = {}
    records = json.loads((root / "facts" / "messages.json").read_text(encoding="utf-8"))
    order = ["torch", "paddle", "numpy", "cupy", "minitensor"]
    for record in records.values():
        for said in record["messages"]:
            library = said.get("library", record.get("library"))
            named = {name: said.get(name, "") for name in ("source", "reported")}
            row = Row(said["cause"], library, said["message"], said["program"], said["instead"], **named)
            row = found.setdefault((library, core(row.message)), row)
            if "version" in record and record["version"] not in row.versions:
                row.versions.append(record["version"])
    return sorted(found.values(), key=lambda row: order.index(row.library))


def starts(root: Path) -> dict[str, str]:
    """What the programs of a library begin with."""
    records = json.loads((root / "facts" / "messages.json").read_text(encoding="utf-8"))
    return {record["library"]: record["start"] for record in records.values() if "start" in record}


def said_now(start: str, program: str, names: dict[str, Any]) -> str | None:
    """What comes of a program, run here: its error, or else its last warning; None if it has nothing to say.

    Args:
        start: what comes before the program and is expected to say nothing.
        program: lines of Python.
        names: what both see, such as the library; changed in place.

    Policy and device are as before afterwards.
    """
    with as_before(), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        exec(start, names)  # the record's own programs
        del warned[:]
        try:
            exec(program, names)
        except Exception as error:
            return f"{type(error).__name__}: {str(error).strip()}"
    return f"{warned[-1].category.__name__}: {str(warned[-1].message).strip()}" if warned else None


@contextlib.contextmanager
def as_before() -> Iterator[None]:
    """Afterwards policy and device are as they were, whatever a program does to them."""
    place = mt.get_device()
    try:
        with mt.set_inplace_policy(mt.get_inplace_policy()):
            yield
    finally:
        mt.set_device(place)


# ---------- as Markdown ----------


def table(root: Path, cause: str) -> str:
    """The messages of a cause, as a table.

    Raises:
        ValueError: when a program of minitensor raises nothing any more.
    """
    start = starts(root)["minitensor"]
    lines = ["| " + " | ".join(HEADS) + " |", "|---" * len(HEADS) + "|"]
    for row in (row for row in recorded(root) if row.cause == cause):
        message = row.message
        if row.library == "minitensor":
            now = said_now(start, row.program, {"minitensor": mt})
            if now is None:
                raise ValueError(f"this program of facts/messages.json raises nothing:\n{row.program}")
            message = now
        instead = "<br>*or*<br>".join(map(code, row.instead)) or "–"
        lines.append(f"| {quoted(message)} | {origin(row)} | {code(row.program)} | {instead} |")
    return "\n".join(lines)


def origin(row: Row) -> str:
    """Who says it, and how that is known."""
    name = NAMES[row.library]
    if row.library == "minitensor":
        return name
    if row.ran:
        return f"{name} {', '.join(row.versions)}"
    told = f"reported {row.reported}" if row.reported else "its source"
    return f"{name}, [{told}]({row.source}); not run"


def quoted(message: str) -> str:
    """A message in one line, cut where it is long."""
    return _span(shortened(" ".join(message.split()), LONGEST))


def shortened(text: str, most: int) -> str:
    """``text``, cut behind a word where it has more than ``most`` characters."""
    return text if len(text) <= most else text[:most].rsplit(" ", 1)[0] + " …"


def code(program: str) -> str:
    """The lines of a program in one cell of a table."""
    return "<br>".join(map(_span, program.splitlines()))


def _span(text: str) -> str:
    """Text as code in a cell: bars are escaped, and more backticks surround it than are in it."""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    space = " " if "`" in (text[0], text[-1]) else ""
    return f"{fence}{space}{text}{space}{fence}".replace("|", "\\|")
