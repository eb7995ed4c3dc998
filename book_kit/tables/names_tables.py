"""Tables for the appendix on names: the name of an operation in each library, and names that differ in meaning.

A row of :mod:`minitensor.paddle.names` has a cell with a short program for each library. ``facts/names.json`` records
the results of the other libraries, and minitensor runs its cells when a table is made.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import minitensor as mt
from book_kit.data.library_names import NAMES
from book_kit.tables.reference_tables import markdown, rounded
from book_kit.tables.table_words import comma_list, said, semicolon_list, translated
from memory_stage.messages import Text, message, sentences
from minitensor.paddle.missing import NOT_HERE
from minitensor.paddle.names import ASKS, ROWS, STARTS, NameRow

#: The answer to a question that a cell left open, because it raised an error first.
NOTHING = "nothing"


@dataclass(frozen=True)
class CellAnswer:
    """The result of a cell: the type of its error ("" if there was none), and the values of the row's expressions."""

    error: str
    values: dict[str, Any]

    def to(self, ask: str) -> Any:
        """Return the answer to ``ask`` (a key of :data:`~minitensor.paddle.names.ASKS`), or :data:`NOTHING`.

        If ``ask`` is "error", return the type of the error, or "none".
        """
        return self.error or "none" if ask == "error" else self.values.get(ASKS[ask][1], NOTHING)


def run(row: NameRow, library: str = "minitensor") -> CellAnswer:
    """Run the row's cell for ``library`` in minitensor. A cell for PyTorch uses ``minitensor.torch``.

    The policy and the device are restored afterwards.
    """
    program = row.program(library).replace("import torch\n", "import minitensor.torch as torch\n", 1)
    names: dict[str, Any] = {}
    place, error = mt.get_device(), ""
    try:
        with mt.set_inplace_policy(mt.get_inplace_policy()):
            try:
                exec(program, names)  # the program is a cell of the table, not a text from outside
            except Exception as raised:
                error = type(raised).__name__
            values = {
                each: json.loads(json.dumps(eval(each, names)))  # JSON turns tuples into lists, as in a record
                for each in row.expressions
                if _is_defined(each, names)
            }
    finally:
        mt.set_device(place)
    return CellAnswer(error, values)


def _is_defined(expression: str, names: dict[str, Any]) -> bool:
    """True if the expression can be evaluated: the cell has assigned ``z``, or the expression does not contain it."""
    return "z" in names or not re.search(r"\bz\b", expression)


def recorded(facts: Path) -> dict[str, dict[str, CellAnswer]]:
    """Map each library and version to its recorded answers, which are keyed by the :func:`key` of their rows.

    Raises:
        ValueError: if a program of the table has changed since it was recorded.
    """
    record = json.loads((facts / "names.json").read_text(encoding="utf-8"))
    found: dict[str, dict[str, CellAnswer]] = {}
    for title, library in ((f"{NAMES[each['library']]} {each['version']}", each) for each in record.values()):
        name, answers = library["library"], library["answers"]
        if answers["the start"]["program"] != STARTS[name]:
            raise ValueError(f"the lines before the cells of {title} have changed: record facts/names.json again")
        found[title] = {}
        for row in ROWS:
            if name not in row.cells:
                continue
            answer = answers.get(key(row), {})
            if answer.get("program") != row.program(name).removeprefix(STARTS[name]):
                raise ValueError(f"the cell {key(row)!r} of {title} has changed: record facts/names.json again")
            found[title][key(row)] = CellAnswer(answer.get("error", "").partition(":")[0], answer["values"])
    return found


def key(row: NameRow) -> str:
    """Return the key of a row in the record."""
    return f"{row.section}: {row.what}"


def answers(row: NameRow, records: dict[str, dict[str, CellAnswer]]) -> dict[str, CellAnswer]:
    """Return the answers of each library that has a cell in the row, minitensor's first."""
    found = {"minitensor": run(row)} if "minitensor" in row.cells else {}
    for name in list(NAMES.values())[1:]:
        for title in sorted(records):
            if title.startswith(f"{name} ") and key(row) in records[title]:
                found[title] = records[title][key(row)]
    return found


def alike(a: Any, b: Any) -> bool:
    """True if two values are equal. Floats may differ in their last digits."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, float) and isinstance(b, (int, float)) and not isinstance(b, bool):
        return abs(a - b) <= 1e-5 * max(1.0, abs(b))
    return type(a) is type(b) and a == b


def differing(row: NameRow, found: dict[str, CellAnswer]) -> list[str]:
    """Return the questions of a row that not all libraries answer alike."""
    first, *others = found.values()
    return [ask for ask in row.ask if ask and not all(alike(other.to(ask), first.to(ask)) for other in others)]


# ---------- tables, as Markdown ----------


def sections() -> list[str]:
    """Return the headings of the sections, in order."""
    return list(dict.fromkeys(row.section for row in ROWS))


def numbers() -> dict[str, int]:
    """Return a number for each row whose meaning differs between libraries, keyed by the row's key."""
    return {key(row): number for number, row in enumerate((row for row in ROWS if row.note), 1)}


def names_table(section: str) -> str:
    """Return a table of the names in one section, by library. A row has a number if the names differ in meaning.

    A library that has no name in the section has no column.
    """
    rows = [row for row in ROWS if row.section == section]
    others = [name for name in ("torch", "numpy", "jax") if any(name in row.cells for row in rows)]
    lines = (
        (translated(row.what) + _number(row), _both(row), *(_code(row.shown(name)) for name in others)) for row in rows
    )
    return markdown(("", message("minitensor and Paddle"), *(NAMES[name] for name in others)), lines)


def _both(row: NameRow) -> Text:
    ours, paddles = row.shown("minitensor"), row.shown("paddle")
    if ours == paddles:
        return _code(ours)
    if paddles:
        return message("{ours} in minitensor, {paddles} in Paddle", ours=_code(ours), paddles=_code(paddles))
    return message("{ours} in minitensor alone", ours=_code(ours))


def _code(cell: str) -> str:
    return f"`{cell}`" if cell else "–"


def _number(row: NameRow) -> str:
    """Return a link from a row to its line in the table of differences, which links back; "" if the row has no line."""
    if not row.note:
        return ""
    number = numbers()[key(row)]
    return f' (<span id="name-{number}">[{number}](#difference-{number})</span>)'


def differences_table(records: dict[str, dict[str, CellAnswer]]) -> str:
    """Return a table of the rows whose meaning differs, with the difference and the answers that show it."""
    lines = []
    for row in ROWS:
        if row.note:
            found = answers(row, records)
            seen = "<br>".join(_answer_cell(ask, found) for ask in differing(row, found))
            number = numbers()[key(row)]
            back = f'<span id="difference-{number}">[{number}](#name-{number})</span>'
            lines.append((back, translated(row.what), translated(row.note), seen))
    return markdown(("", message("What"), message("How it differs"), message("What was seen")), lines)


def _answer_cell(ask: str, found: dict[str, CellAnswer]) -> str:
    groups: list[tuple[Any, list[str]]] = []
    for title, answer in found.items():
        value = answer.to(ask)
        if value == NOTHING:
            continue
        group = next((titles for other, titles in groups if alike(other, value)), None)
        if group is None:
            groups.append((value, [title]))
        else:
            group.append(title)
    text = semicolon_list(
        message("{answer}: {libraries}", answer=_in_words(ask, value), libraries=_join_titles(titles, found))
        for value, titles in groups
    )
    return f"*{translated(ASKS[ask][0])}* {text}"


def _in_words(ask: str, value: Any) -> Text:
    """Return "yes" or "no" if ``ask`` is a yes-no question with such an answer, and otherwise the value as code."""
    if ASKS[ask][0].endswith("?") and value in (True, False, "none"):
        return message("yes") if value is True else message("no")
    return f"`{rounded(value)}`"


def _join_titles(titles: list[str], found: dict[str, CellAnswer]) -> str:
    """Join the names of libraries. Their versions are left out unless two versions of one library differ."""
    shown = []
    for title in titles:
        name = title.partition(" ")[0]
        every = [each for each in found if each.partition(" ")[0] == name]
        shown.append(name if all(each in titles for each in every) else title)
    return comma_list(dict.fromkeys(shown))


def torch_text() -> str:
    """Return how many cells of PyTorch's column run under minitensor's PyTorch names, and a table of the others."""
    rows = [row for row in ROWS if "torch" in row.cells]
    missing = [row for row in rows if run(row, "torch").error == "AttributeError"]
    run_here = len(rows) - len(missing)
    text = message(
        "Of the {count} cells of PyTorch's column, minitensor runs {run} under PyTorch's names.",
        count=len(rows),
        run=run_here,
    )
    if not missing:
        return said(text)
    table = markdown(
        (message("What"), "PyTorch"), ((translated(row.what), _code(row.shown("torch"))) for row in missing)
    )
    rest = message("These cells do not run there, because a name is missing:")
    return f"{said(sentences([text, rest]))}\n\n{table}"


def not_here_table() -> str:
    """Return a table of Paddle's modules that minitensor leaves out, with the reasons."""
    return markdown(
        (message("Name"), message("Why, or what to do instead")),
        ((f"`paddle.{name}`", message("{reason}.", reason=translated(why))) for name, why in NOT_HERE.items()),
    )


def tutorials_table(facts: Path) -> str:
    """Return a table of the names in tutorials: how many of them minitensor has, and which ones it lacks."""
    record = json.loads((facts / "tutorial-names.json").read_text(encoding="utf-8"))
    lines = (
        (
            NAMES[library],
            str(len(record[library]["tutorials"])),
            str(len(record[library]["present"])),
            comma_list(f"`{name}`" for name in record[library]["missing"]),
        )
        for library in ("torch", "paddle")
    )
    return markdown(
        ("", message("Tutorials"), message("Names that minitensor has"), message("Names that it lacks")), lines
    )
