"""Tables for the appendix on errors: each message with its library, the shortest program, and the remedy.

The rows are read from ``facts/messages.json``, which contains the recorded messages. ``book/causes.json`` has the title
and the prose of each cause. The programs of minitensor run again when a table is made, so that minitensor's messages
are current.
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
from book_kit.tables.table_words import comma_list, said
from memory_stage.messages import Text, default_language, joined, message

LONGEST = 420  # the most characters of a message; the rest is cut, because it is advice on calls inside the library
HEADS = (message("Message"), message("From"), message("The shortest program"), message("Write instead"))

#: Matches the parts in which two occurrences of one message may differ: numbers, and places inside the library.
CHANGES = re.compile(r"\s*\(at /\S+\)|\bpaddle\.Size\b|\d[\d,.]*")


@dataclass
class MessageRow:
    """One message of a library.

    Attributes:
        cause: a key of ``book/causes.json``.
        library: ``"torch"``, ``"paddle"``, ``"numpy"``, ``"cupy"`` or ``"minitensor"``.
        message: the whole recorded message.
        program: the lines that raise the error. They follow the lines with which every program of the library begins.
        instead: programs to write instead, one for each intention that a reader may have.
        source: "" if the program was run. Otherwise the address of a report, or of the library's source code.
        reported: the date of the report, or "" if there is no report.
        versions: the versions of the library in which the program was run.
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
        """True if the program was run to record the message."""
        return not self.source


def core(message: str) -> str:
    """Return a message without the parts that may differ from run to run."""
    return CHANGES.sub("#", message)


def recorded(root: Path) -> list[MessageRow]:
    """Return a row for each different message. Rows are sorted by library; then they have the order of the record."""
    found: dict[tuple[str, str], MessageRow] = {}
    records = json.loads((root / "facts" / "messages.json").read_text(encoding="utf-8"))
    order = ["torch", "paddle", "numpy", "cupy", "minitensor"]
    for record in records.values():
        for shown in record["messages"]:
            library = shown.get("library", record.get("library"))
            named = {name: shown.get(name, "") for name in ("source", "reported")}
            row = MessageRow(shown["cause"], library, shown["message"], shown["program"], shown["instead"], **named)
            row = found.setdefault((library, core(row.message)), row)
            if "version" in record and record["version"] not in row.versions:
                row.versions.append(record["version"])
    return sorted(found.values(), key=lambda row: order.index(row.library))


def starts(root: Path) -> dict[str, str]:
    """Return the lines with which the programs of each library begin."""
    records = json.loads((root / "facts" / "messages.json").read_text(encoding="utf-8"))
    return {record["library"]: record["start"] for record in records.values() if "start" in record}


def said_now(start: str, program: str, names: dict[str, Any]) -> str | None:
    """Run a program and restore the policy and the device. Return the program's error, or else its last warning, or
    else None.

    Args:
        start: lines that run before the program; their warnings are ignored.
        program: lines of Python.
        names: the global names for both, such as the library. The programs may change this dict.
    """
    with restored_settings(), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        exec(start, names)  # this and the next call run only programs of the record
        del warned[:]
        try:
            exec(program, names)
        except Exception as error:
            return f"{type(error).__name__}: {str(error).strip()}"
    return f"{warned[-1].category.__name__}: {str(warned[-1].message).strip()}" if warned else None


@contextlib.contextmanager
def restored_settings() -> Iterator[None]:
    """Restore the policy and the device at the end of the block."""
    place = mt.get_device()
    try:
        with mt.set_inplace_policy(mt.get_inplace_policy()):
            yield
    finally:
        mt.set_device(place)


# ---------- as Markdown ----------


def causes(root: Path) -> dict[str, dict[str, Any]]:
    """Return the causes of messages, with their prose in the language of the page."""
    found: dict[str, dict[str, Any]] = json.loads((root / "book" / "causes.json").read_text(encoding="utf-8"))
    edition = root / default_language().code / "book" / "causes.json"
    if edition.is_file():
        for key, words in json.loads(edition.read_text(encoding="utf-8")).items():
            found[key] |= words
    return found


def table(root: Path, cause: str) -> str:
    """Return the messages of a cause as a table.

    Raises:
        ValueError: if a program of minitensor neither raises an error nor emits a warning.
    """
    start = starts(root)["minitensor"]
    lines = ["| " + " | ".join(map(said, HEADS)) + " |", "|---" * len(HEADS) + "|"]
    for row in (row for row in recorded(root) if row.cause == cause):
        words = row.message
        if row.library == "minitensor":
            now = said_now(start, row.program, {"minitensor": mt})
            if now is None:
                raise ValueError(f"this program of facts/messages.json raises nothing:\n{row.program}")
            words = now
        otherwise = said(message("or"))
        instead = f"<br>*{otherwise}*<br>".join(map(code, row.instead)) or "–"
        lines.append(f"| {quoted(words)} | {origin(row)} | {code(row.program)} | {instead} |")
    return "\n".join(lines)


def origin(row: MessageRow) -> str:
    """Return the library of a message, and the versions in which the program was run or a link to the source."""
    name = NAMES[row.library]
    if row.library == "minitensor":
        return name
    if row.ran:
        return f"{name} {comma_list(row.versions)}"
    words = message("reported {day}", day=row.reported) if row.reported else message("its source")
    return said(message("{library}, {link}; not run", library=name, link=f"[{said(words)}]({row.source})"))


def recorded_from(row: MessageRow) -> Text:
    """Return the library of a message, with the versions in which the program was run or with the message's source."""
    name = NAMES[row.library]
    if row.reported:
        return message("{library}, reported {day}", library=name, day=row.reported)
    if not row.ran:
        return message("{library}, from its source", library=name)
    return message("{library} {versions}", library=name, versions=joined(row.versions))


def quoted(message: str) -> str:
    """Return a message on one line, with at most `LONGEST` characters."""
    return _span(shortened(" ".join(message.split()), LONGEST))


def shortened(text: str, most: int) -> str:
    """Return ``text``, cut after a word if it has more than ``most`` characters."""
    return text if len(text) <= most else text[:most].rsplit(" ", 1)[0] + " …"


def code(program: str) -> str:
    """Return the lines of a program as one cell of a table."""
    return "<br>".join(map(_span, program.splitlines()))


def _span(text: str) -> str:
    """Return text as code for a cell. Vertical bars are escaped, and the fence has more backticks than any sequence of
    backticks in the text.
    """
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    space = " " if "`" in (text[0], text[-1]) else ""
    return f"{fence}{space}{text}{space}{fence}".replace("|", "\\|")
