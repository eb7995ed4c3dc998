"""The tables of the appendix on names: what each library calls a thing, and where the same name means another.

The names are rows of :mod:`minitensor.paddle.names`. What the other libraries do with them is recorded in
``facts/names.json``; what minitensor does is seen by running the cells.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import minitensor as mt
from book_kit.tables.reference_tables import markdown
from minitensor.paddle.missing import NOT_HERE
from minitensor.paddle.names import ASKS, ROWS, STARTS, NameRow

#: In place of an answer, where the cell raised before there was one.
NOTHING = "nothing"
TITLES = {"minitensor": "minitensor", "paddle": "Paddle", "torch": "PyTorch", "numpy": "NumPy", "jax": "JAX"}


@dataclass(frozen=True)
class Answer:
    """What came of a cell: the type of the error, or "", and the values of the row's expressions."""

    error: str
    values: dict[str, Any]

    def to(self, ask: str) -> Any:
        """The answer to a key of :data:`~minitensor.paddle.names.ASKS`; :data:`NOTHING` when an error left none."""
        return self.error or "none" if ask == "error" else self.values.get(ASKS[ask][1], NOTHING)


def run(row: NameRow, library: str = "minitensor") -> Answer:
    """The cell of ``library``, run by minitensor; that of PyTorch under PyTorch's names, which are in minitensor.torch.

    Modes and devices are as before afterwards.
    """
    program = row.program(library).replace("import torch\n", "import minitensor.torch as torch\n", 1)
    names: dict[str, Any] = {}
    place, error = mt.get_device(), ""
    try:
        with mt.set_inplace_policy(mt.get_inplace_policy()):
            try:
                exec(program, names)  # a cell of the table
            except Exception as raised:
                error = type(raised).__name__
            values = {each: json.loads(json.dumps(eval(each, names))) for each in row.expressions if _can(each, names)}
    finally:
        mt.set_device(place)
    return Answer(error, values)


def _can(expression: str, names: dict[str, Any]) -> bool:
    return "z" in names or not re.search(r"\bz\b", expression)


def recorded(facts: Path) -> dict[str, dict[str, Answer]]:
    """By library and version, what was recorded of each row; keys are ``"section: what"``.

    Raises:
        ValueError: when a program of the table is not the one that was recorded.
    """
    record = json.loads((facts / "names.json").read_text(encoding="utf-8"))
    found: dict[str, dict[str, Answer]] = {}
    for title, library in ((f"{TITLES[each['library']]} {each['version']}", each) for each in record.values()):
        name, answers = library["library"], library["answers"]
        if answers["the start"]["program"] != STARTS[name]:
            raise ValueError(f"facts/names.json: what runs before the cells of {title} has changed; record it again")
        found[title] = {}
        for row in ROWS:
            if name not in row.cells:
                continue
            answer = answers.get(key(row), {})
            if answer.get("program") != row.program(name).removeprefix(STARTS[name]):
                raise ValueError(f"facts/names.json: {key(row)!r} of {title} was recorded otherwise; record it again")
            found[title][key(row)] = Answer(answer.get("error", "").partition(":")[0], answer["values"])
    return found


def key(row: NameRow) -> str:
    """What a row is called in the record."""
    return f"{row.section}: {row.what}"


def answers(row: NameRow, records: dict[str, dict[str, Answer]]) -> dict[str, Answer]:
    """What came of a row in each library that has a name for it, minitensor first."""
    found = {"minitensor": run(row)} if "minitensor" in row.cells else {}
    for name in list(TITLES.values())[1:]:
        for title in sorted(records):
            if title.startswith(f"{name} ") and key(row) in records[title]:
                found[title] = records[title][key(row)]
    return found


def alike(a: Any, b: Any) -> bool:
    """Equal, where numbers may differ in their last digits."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, float) and isinstance(b, (int, float)) and not isinstance(b, bool):
        return abs(a - b) <= 1e-5 * max(1.0, abs(b))
    return type(a) is type(b) and a == b


def differing(row: NameRow, found: dict[str, Answer]) -> list[str]:
    """The asks of a row to which the libraries answer differently."""
    first, *others = found.values()
    return [ask for ask in row.ask if ask and not all(alike(other.to(ask), first.to(ask)) for other in others)]


# ---------- tables, as Markdown ----------


def sections() -> list[str]:
    """The headings, in order."""
    return list(dict.fromkeys(row.section for row in ROWS))


def numbers() -> dict[str, int]:
    """The numbers of the rows whose meaning differs, by key."""
    return {key(row): number for number, row in enumerate((row for row in ROWS if row.note), 1)}


def names_table(section: str) -> str:
    """What each library calls the things of one section; a number where the meaning differs.

    A library without a single name there has no column.
    """
    rows = [row for row in ROWS if row.section == section]
    others = [name for name in ("torch", "numpy", "jax") if any(name in row.cells for row in rows)]
    lines = ((row.what + _number(row), _both(row), *(_code(row.shown(name)) for name in others)) for row in rows)
    return markdown(("", "minitensor and Paddle", *(TITLES[name] for name in others)), lines)


def _both(row: NameRow) -> str:
    ours, paddles = row.shown("minitensor"), row.shown("paddle")
    if ours == paddles:
        return _code(ours)
    return f"{_code(ours)} in minitensor" + (f", {_code(paddles)} in Paddle" if paddles else " alone")


def _code(cell: str) -> str:
    return f"`{cell}`" if cell else "–"


def _number(row: NameRow) -> str:
    """A link to the row's line in the table of differences, which has one back."""
    if not row.note:
        return ""
    number = numbers()[key(row)]
    return f' (<span id="name-{number}">[{number}](#difference-{number})</span>)'


def differences_table(records: dict[str, dict[str, Answer]]) -> str:
    """The rows whose meaning differs: how, and what was seen."""
    lines = []
    for row in ROWS:
        if row.note:
            found = answers(row, records)
            seen = "<br>".join(_seen(ask, found) for ask in differing(row, found))
            number = numbers()[key(row)]
            back = f'<span id="difference-{number}">[{number}](#name-{number})</span>'
            lines.append((back, row.what, row.note, seen))
    return markdown(("", "What", "How it differs", "What was seen"), lines)


def _seen(ask: str, found: dict[str, Answer]) -> str:
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
    told = "; ".join(f"{_in_words(ask, value)}: {_listed(titles, found)}" for value, titles in groups)
    return f"*{ASKS[ask][0]}* {told}"


def _in_words(ask: str, value: Any) -> str:
    """Yes or no to a question, else the value as code."""
    if ASKS[ask][0].endswith("?") and value in (True, False, "none"):
        return "yes" if value is True else "no"
    return f"`{_rounded(value)}`"


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return round(value, 4) if isinstance(value, float) else value


def _listed(titles: list[str], found: dict[str, Answer]) -> str:
    """The libraries without their versions, unless two versions of one answer differently."""
    shown = []
    for title in titles:
        name = title.partition(" ")[0]
        every = [each for each in found if each.partition(" ")[0] == name]
        shown.append(name if all(each in titles for each in every) else title)
    return ", ".join(dict.fromkeys(shown))


def torch_text() -> str:
    """How many cells of PyTorch's column minitensor runs under PyTorch's names, and a table of the others."""
    rows = [row for row in ROWS if "torch" in row.cells]
    missing = [row for row in rows if run(row, "torch").error == "AttributeError"]
    run_here = len(rows) - len(missing)
    told = f"Of the {len(rows)} cells of PyTorch's column, minitensor runs {run_here} under PyTorch's names."
    if not missing:
        return told
    table = markdown(("What", "PyTorch"), ((row.what, _code(row.shown("torch"))) for row in missing))
    return f"{told} These cells do not run there, because a name is missing:\n\n{table}"


def not_here_table() -> str:
    """Modules of Paddle that are left out, and why."""
    return markdown(
        ("Name", "Why, or what to do instead"), ((f"`paddle.{name}`", why + ".") for name, why in NOT_HERE.items())
    )
