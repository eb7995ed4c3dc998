"""Tables of results that share memory, from `facts/aliases.json`, for chapter 4 and appendix C.

The column of minitensor is computed while the page is built, by running the programs whose answers in Paddle are
recorded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import minitensor as mt
from book_kit.data.library_names import NAMES
from book_kit.tables.reference_tables import markdown
from book_kit.tables.table_words import said
from memory_stage.messages import Text, message

#: The program of a question, and either its error or the values of its expressions. `seen` is True if a write to `x`
#: has changed `y`.
Answer = dict[str, Any]
Records = dict[str, dict[str, Any]]

FROM_OPERATIONS: dict[str, Text] = {
    "detach": "`x.detach()`",
    "view": "`x.view`",
    "index_select": message("`index_select` (NumPy: `take`)"),
    "masked_select": message("`masked_select` (NumPy: `compress`)"),
    "gather": "`gather`",
    "a model's output": message("a model's output: `Linear`"),
    "a model that only reshapes": message("a model's output: `Flatten`"),
    "clone": message("`clone()` (NumPy: `copy`)"),
    "split": "`split`",
    "expand": message("`expand` (NumPy: `broadcast_to`)"),
}
FROM_NUMPY: dict[str, Text] = {
    "numpy()": "`x.numpy()`",
    "asarray of a tensor": "`np.asarray(x)`",
    "to_tensor of an array": message("`to_tensor(a)` (PyTorch: `tensor(a)`)"),
    "from_numpy": "`from_numpy(a)`",
    "from_dlpack of an array": "`from_dlpack(a)`",
    "from_dlpack": message("`from_dlpack` of a tensor"),
}
TARGETS: dict[str, Text] = {
    "y = y + x": "`y = y + x`",
    "y += x": "`y += x`",
    "y[:] = y + x": "`y[:] = y + x`",
    "add with out": "`add(x, y, out=y)`",
    "add_": "`y.add_(x)`",
}
EXPANDED: dict[str, Text] = {
    "expand, then add": "`e.add_(10)`",
    "expand, then fill": "`e.fill_(7)`",
    "expand, then assign": "`e[0, 0] = 7`",
}
#: Maps a question of the record to a line that reads a part of the memory that it overwrites, and to the result that
#: the line would have if it read a copy.
OVERLAPS: dict[str, tuple[Text, list[float]]] = {
    "neighbors": ("`x[1:].add_(x[:-1])`", [1.0, 3.0, 5.0, 7.0, 9.0]),
    "neighbors assigned": ("`x[1:] = x[:-1]`", [1.0, 1.0, 2.0, 3.0, 4.0]),
    "its own first": ("`x.subtract_(x[0])`", [0.0, 1.0, 2.0, 3.0, 4.0]),
    "its own first, cloned": (message("the same with `x[0].clone()`"), [0.0, 1.0, 2.0, 3.0, 4.0]),
    "every second": ("`x[2:].multiply_(x[::2])`", [2.0, 3.0, 8.0, 20.0]),
    "a column into a row": (message("`x[1]` after `x[1] = x[:, 2]`"), [2.0, 5.0, 8.0]),
}


def recorded(facts: Path) -> Records:
    """Return the record of each library, keyed by the library's name and version."""
    records: Records = json.loads((facts / "aliases.json").read_text(encoding="utf-8"))
    return records


def operations_table(records: Records) -> str:
    """Return a table of operations, with "alias" if a write to `x` changes the result, and otherwise "copy"."""
    return _table(message("`y` is"), FROM_OPERATIONS, records, _alias_or_copy)


def numpy_table(records: Records) -> str:
    """Return a table of conversions between tensor and array, each an "alias" or a "copy". NumPy has no column."""
    frameworks = {key: record for key, record in records.items() if record["library"] != "numpy"}
    return _table(message("Made by"), FROM_NUMPY, frameworks, _alias_or_copy)


def targets_table(records: Records) -> str:
    """Return a table of lines that compute `y + x`: do they write in place, and do they increment the version?"""
    return _table(message("Line"), TARGETS, records, _target)


def expanded_table(records: Records) -> str:
    """Return a table of writes to an expanded tensor `e`, with the numbers of `e` and `x` after the write."""
    return _table("`e = x.expand([3, 2])`", EXPANDED, records, _expand_cell)


def overlaps_table(records: Records) -> str:
    """Return a table of writes that read a part of their target: cells are "right", "refuses", or wrong numbers."""
    columns: dict[str, list[Text]] = {
        said(message("right is")): [_join_numbers(right) for _, right in OVERLAPS.values()]
    }
    for title, answers in _answers(records, OVERLAPS).items():
        columns[title] = [
            _right_or_numbers(right, answer) for (_, right), answer in zip(OVERLAPS.values(), answers, strict=True)
        ]
    return _markdown(message("Line"), [line for line, _ in OVERLAPS.values()], columns)


def minitensors_answer(records: Records, question: str) -> Answer:
    """Run Paddle's program for a question in minitensor, and return the answer in the form of a record."""
    asked = records["paddle 2.6.2"]["answers"][question]
    program = asked["program"].replace(
        "paddle.utils.dlpack.from_dlpack(paddle.utils.dlpack.to_dlpack(x))", "paddle.from_dlpack(x)"
    )
    names: dict[str, Any] = {"paddle": mt}
    answer: Answer = {"values": {}}
    try:
        exec(program, names)
    except Exception as error:
        answer["error"] = f"{type(error).__name__}: {error}"
    for expression in {*asked["values"], "seen"}:
        if expression != "seen" or "seen" in names:
            answer["values"][expression] = eval(expression, names)
    return answer


def _table(first: Text, rows: Mapping[str, Text], records: Records, word: Callable[[Answer | None], Text]) -> str:
    columns = {title: [word(answer) for answer in answers] for title, answers in _answers(records, rows).items()}
    return _markdown(first, list(rows.values()), columns)


def _answers(records: Records, questions: Iterable[str]) -> dict[str, list[Answer | None]]:
    """Return the answers of each recorded library and of minitensor, keyed by the headings of their columns.

    The answer of a library to which the question was not put is None.
    """
    answers = {
        f"{NAMES[record['library']]} {record['version']}": [record["answers"].get(each) for each in questions]
        for record in records.values()
    }
    return {**answers, "minitensor": [minitensors_answer(records, each) for each in questions]}


def _markdown(first: Text, titles: list[Text], columns: Mapping[str, list[Text]]) -> str:
    """Return a table with a column for each library. Two versions of Paddle with equal answers share one column."""
    old, new = "Paddle 2.6.2", "Paddle 3.3.1"
    if old in columns and columns[old] == columns.get(new):
        columns = {f"{head}, 3.3.1" if head == old else head: columns[head] for head in columns if head != new}
    return markdown([first, *columns], zip(titles, *columns.values(), strict=True))


def _alias_or_copy(answer: Answer | None) -> Text:
    if answer is None or answer.get("error", "").startswith("AttributeError"):
        return "–"  # the library has no such operation
    return message("alias") if answer["values"]["seen"] else message("copy")


def _target(answer: Answer | None) -> Text:
    if answer is None:
        return "–"
    if "error" in answer:
        return str(answer["error"].partition(":")[0])
    values = answer["values"]
    if not values.get("address(y) == where"):
        return message("new storage")
    version = values.get("y.inplace_version", values.get("y._version"))
    if version is None:
        return message("in place")
    return message("in place, counted") if version else message("in place, not counted")


def _expand_cell(answer: Answer | None) -> Text:
    if answer is None:
        return "–"
    if "error" in answer:
        return message("refuses")
    x, e = answer["values"]["x.tolist()"], answer["values"]["e.tolist()"]
    return f"`e` {e}, `x` {x}".replace(" ", "\N{NO-BREAK SPACE}").replace(".0", "")


def _right_or_numbers(right: list[float], answer: Answer | None) -> Text:
    if answer is None:
        return "–"
    if "error" in answer:
        return message("refuses")
    (numbers,) = answer["values"].values()
    return message("right") if numbers == right else f"**{_join_numbers(numbers)}**"


def _join_numbers(numbers: list[float]) -> str:
    return "\N{NO-BREAK SPACE}".join(f"{number:g}" for number in numbers)
