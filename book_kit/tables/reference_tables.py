"""Tables for the appendix on in-place operations.

The saved values and the gradient rules are read from the derivative table. The bytes are measured by running the
operations. The names and numbers of other frameworks are read from recorded facts. Only the gradients of the few
operations outside the derivative table are written by hand.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import minitensor as mt
from book_kit.data.sample_calls import INTEGERS, changes, copies_held, row_of
from book_kit.tables.table_words import comma_list, said, semicolon_list, translated
from memory_stage.messages import Text, capitalized, listed, message
from minitensor.engine.core.tensor import Tensor
from minitensor.memory.backward_needs import needs_of
from minitensor.paddle.left_out import LEFT_OUT

PLACES = {"paddle.Tensor": Tensor, "paddle": mt, "paddle.nn.functional": mt.nn.functional}
SHORT = {"paddle.Tensor": "Tensor", "paddle": "paddle", "paddle.nn.functional": "F"}

#: Maps an operation that is not in the derivative table to its effect on the gradient.
ELSEWHERE: dict[str, Text] = {
    "apply_": message("refused where `x` requires a gradient"),
    "cast_": message("`x: g`, in the old dtype"),
    "copy_": "`x: 0`, `other: g`",
    "detach_": message("the history ends"),
    "flatten_": message("`x: g`, in the old shape"),
    "requires_grad_": message("sets whether `x` requires one"),
    "reshape_": message("`x: g`, in the old shape"),
    "resize_": message("refused where `x` requires a gradient"),
    "set_": message("that of a view of the other tensor"),
    "squeeze_": message("`x: g`, in the old shape"),
    "t_": message("`x: g`, transposed back"),
    "transpose_": message("`x: g`, transposed back"),
    "unsqueeze_": message("`x: g`, in the old shape"),
}

#: Translated words for the results of :mod:`~book_kit.data.sample_calls`, and for the values that the engine saves.
WORDS = {
    "its input": message("its input"),
    "its output": message("its output"),
    "1 bit per element": message("1 bit per element"),
    "2 bits per element": message("2 bits per element"),
    "stays": message("stays"),
    "the same": message("the same"),
    "another": message("another"),
}

# ---------- one line of the table ----------


@dataclass(frozen=True)
class OperationEntry:
    """One name of an in-place operation, with the texts of its row.

    Attributes:
        places: the modules and classes of Paddle that have the name, in 2.6.2 or 3.3.1.
        same_as: the operation of which this name is an alias, or "" if it is not an alias.
        signature: the signature in Paddle 3.3.1, or minitensor's if Paddle's is not known.
        gradient: the gradient rules, as Markdown.
        keeps: the values that are saved for backward, each as a key of :data:`WORDS` or as code.
        held: how many copies of x stay allocated in minitensor, measured now.
        when: how many stay allocated if other operands also require gradients. "" if the number is the same.
        paddle, torch: how many stay allocated in these frameworks, as recorded. "–" if there is no record.
        differs: the numbers of the operation's differences in :func:`numbered_differences`.
    """

    name: str
    places: tuple[str, ...]
    same_as: str
    signature: str
    gradient: str
    keeps: tuple[str, ...]
    held: str
    when: str
    paddle: str
    torch: str
    differs: tuple[int, ...]

    @property
    def group(self) -> str:
        """The group of the operation by cost, a key of :data:`GROUPS`."""
        if self.name in ELSEWHERE and self.name != "copy_":
            return "metadata"
        if self.held == "–":
            return "integers"
        for word, group in (("its input", "copy"), ("per element", "bits"), ("its output", "result")):
            if any(word in value for value in self.keeps):
                return group
        return "nothing"


#: Groups of operations, with their descriptions.
GROUPS = {
    "nothing": message("needs neither its old input nor its result"),
    "result": message("needs its result"),
    "bits": message("needs bits of its old input"),
    "copy": message("needs its old input"),
    "metadata": message("changes what the tensor is"),
    "integers": message("works on integers"),
}


def described(group: str) -> str:
    """Return the description of a group as the beginning of a cell."""
    return said(capitalized(GROUPS[group]))


def entries(facts: Path) -> list[OperationEntry]:
    """Return an entry for each of Paddle's names that minitensor has, in alphabetical order.

    Args:
        facts: the folder of the recorded facts.
    """
    names = _fact(facts, "inplace-apis.json")["rows"]
    paddle, torch = paddle_copies(facts), torch_copies(facts)
    return [
        OperationEntry(
            name=name,
            places=tuple(place for place in PLACES if place in (*recorded["2.6.2"], *recorded["3.3.1"])),
            same_as=_same_as(name),
            signature=signature(name, recorded),
            gradient=gradient(name),
            keeps=keeps(name),
            held=amount(copies_held(name)),
            when=_when(name),
            paddle=paddle.get(name, "–"),
            torch=torch.get(name, "–"),
            differs=tuple(number for number, each in numbered_differences(facts) if name in each.operations),
        )
        for name, recorded in sorted(names.items())
        if name not in LEFT_OUT
    ]


def _same_as(name: str) -> str:
    row = row_of(name)
    return "" if row is None or name == row.name + "_" else row.name + "_"


def _fact(facts: Path, file: str) -> Any:
    return json.loads((facts / file).read_text(encoding="utf-8"))


def signature(name: str, recorded: dict[str, Any]) -> str:
    """Return the signature in Paddle 3.3.1, without types and the parameter ``name``.

    If Paddle's signature is not known, return minitensor's.
    """
    for text in recorded["signature_3.3.1"].values():
        if text.startswith("(") and "**kwargs" not in text:
            made: dict[str, Any] = {}
            exec(f"def {name}{text}: pass", made)  # the text was recorded from Paddle
            return f"{name}{_bare(inspect.signature(made[name]))}"
    found = next(getattr(place, name) for place in PLACES.values() if hasattr(place, name))
    return f"{name}{_bare(inspect.signature(found))}"


def _bare(signature: inspect.Signature) -> inspect.Signature:
    shown = [each for each in signature.parameters.values() if each.name != "name"]
    return inspect.Signature([each.replace(annotation=inspect.Parameter.empty) for each in shown])


def gradient(name: str) -> str:
    """Return the rules of the derivative table for the in-place operation, one in each line.

    Return the text in :data:`ELSEWHERE` for an operation outside the derivative table, and "no gradient" if there is no
    rule.
    """
    row = row_of(name)
    if row is None:
        return said(ELSEWHERE[name])
    rules = row.rules_in_place
    marks = [mark for mark in row.marks if mark in row.saved_in_place]
    lines = [*(f"{operand}: {rule}" for operand, rule in rules.items()), *(f"{m}: {row.marks[m]}" for m in marks)]
    return "<br>".join(f"`{line}`" for line in lines) or said(message("no gradient"))


def keeps(name: str) -> tuple[str, ...]:
    """Return the values that are saved for the gradient of the overwritten operand.

    The tuple is empty for an operation outside the derivative table.
    """
    row = row_of(name)
    if row is None:
        return ()
    needs = needs_of(row.name + "_", [row.target])
    return tuple(f"`{value}`" if value in row.operands else value for value in needs.what)


def _when(name: str) -> str:
    """Return a text about the other operands whose gradients need more copies: their names, and the number of copies.

    The text is "" if that number is the same as when only the overwritten operand requires a gradient.
    """
    row = row_of(name)
    if row is None or name.startswith(INTEGERS) or len(row.rules_in_place) < 2:
        return ""
    alone, together = copies_held(name), copies_held(name, others_want=True)
    if alone == together:
        return ""
    asking = [operand for operand in row.rules_in_place if operand != row.target and row.target in row.needs(operand)]
    operands = listed(f"`{operand}`" for operand in asking)
    return said(message("{copies} where {operands} requires a gradient", copies=amount(together), operands=operands))


def amount(copies: Fraction | None) -> str:
    """Return a number of copies as text, such as ``1`` or ``1/32``; ``–`` for None."""
    return "–" if copies is None else str(copies)


def paddle_copies(facts: Path) -> dict[str, str]:
    """Return how many copies of x each operation keeps in Paddle 2.6.2. If no number is recorded for 2.6.2, the number
    is that of 3.3.1.
    """
    found: dict[str, str] = {}
    for version in ("2.6.2", "3.3.1"):
        for case in _fact(facts, f"goldens/paddle-{version}.json")["cases"]:
            held = (case.get("extra_memory_held_for_backward") or {}).get("copies_of_x_held")
            if held is not None:
                found.setdefault(case["name"], str(Fraction(held)) + (" (3.3.1)" if version == "3.3.1" else ""))
    return found


def torch_copies(facts: Path) -> dict[str, str]:
    """Return how many copies of x each operation keeps in PyTorch, keyed by Paddle's names of the operations."""
    paddles = {"mul_ by a constant tensor": "multiply_", "div_ by a constant tensor": "divide_", "sub_": "subtract_"}
    copies = _fact(facts, "torch-copies.json")["copies"]
    return {paddles.get(name, name): str(Fraction(held)) for name, held in copies.items()}


# ---------- tables, as Markdown ----------


def numbered_differences(facts: Path) -> Iterator[tuple[int, Any]]:
    """Return the groups of differences from ``facts/differences.py``, with their numbers in the appendix."""
    return enumerate(_differences_module(facts.resolve()).groups(), 1)


@functools.cache
def _differences_module(facts: Path) -> Any:
    specification = importlib.util.spec_from_file_location("differences", facts / "differences.py")
    module = importlib.util.module_from_spec(specification)  # type: ignore[arg-type]  # the file is there
    sys.modules[specification.name] = module  # type: ignore[union-attr]  # the file is there
    specification.loader.exec_module(module)  # type: ignore[union-attr]  # a file has a loader
    return module


def markdown(heads: Iterable[Text], lines: Iterable[Iterable[Text]]) -> str:
    """Return a Markdown table. A vertical bar in a cell is escaped, so that it does not end the cell."""
    titles = [said(head) for head in heads]
    body = [" | ".join(said(cell).replace("|", "\\|") for cell in line) for line in lines]
    return "\n".join(f"| {line} |" for line in (" | ".join(titles), " | ".join(["---"] * len(titles)), *body))


def rounded(value: Any) -> Any:
    """Return a recorded value with all floats rounded to four decimals, also in nested lists."""
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return round(value, 4) if isinstance(value, float) else value


def in_place_table(entries: Iterable[OperationEntry]) -> str:
    """Return a table of the values that each operation saves, and of the copies of x that it keeps in each library."""
    heads = (message("Operation"), message("Gradient"), message("Keeps"), "Paddle", "PyTorch", message("Differs"))
    lines = (
        (_operation(each), each.gradient, _saved_cell(each), each.paddle, each.torch, _numbers(each))
        for each in entries
    )
    return markdown(heads, lines)


def _saved_cell(entry: OperationEntry) -> str:
    kept = listed(WORDS.get(value, value) for value in entry.keeps) if entry.keeps else ""
    saved = message("{kept}: {copies}", kept=kept, copies=entry.held)
    held = saved if kept else message("nothing: {copies}", copies=entry.held)
    return semicolon_list([held, entry.when] if entry.when else [held])


def changes_table(entries: Iterable[OperationEntry]) -> str:
    """Return a table of operations: their gradient rules, and their changes to a tensor that requires no gradient."""
    heads = (message("Operation"), message("Gradient"), message("Version"), message("Storage"), message("Changes"))
    lines = (
        (_operation(each), each.gradient, *(WORDS.get(word, word) for word in changes(each.name)), _numbers(each))
        for each in entries
    )
    return markdown((*heads, message("Differs")), lines)


def short_table(entries: Iterable[OperationEntry]) -> str:
    """Return a table that contains only the operations and the numbers of their differences."""
    return markdown(
        (message("Operation"), message("Differs")), ((_operation(each), _numbers(each)) for each in entries)
    )


def _operation(entry: OperationEntry) -> str:
    places = comma_list(SHORT[place] for place in entry.places)
    same = [message("the same as {operation}", operation=f"`{entry.same_as}`")] if entry.same_as else []
    return f"`{entry.signature}`<br>{semicolon_list([places, *same])}"


def _numbers(entry: OperationEntry) -> str:
    return ", ".join(map(str, entry.differs)) or "–"


def left_out_table() -> str:
    """Return a table of the names that minitensor leaves out, with the reasons."""
    return markdown(
        (message("Name"), message("Why, and what to use")),
        ((f"`{name}`", message("{reason}.", reason=translated(why))) for name, why in LEFT_OUT.items()),
    )


def differences_table(facts: Path) -> str:
    """Return a table of minitensor's deliberate differences from Paddle, with the reasons."""
    heads = ("", message("Operations"), message("What differs"), message("Recorded of"), message("Why"))
    lines = (
        (
            str(number),
            translated(each.operations_text),
            semicolon_list(map(translated, each.seen)),
            comma_list(each.frameworks),
            translated(each.reason),
        )
        for number, each in numbered_differences(facts)
    )
    return markdown(heads, lines)
