"""Run the programs of facts/gradients.json in minitensor and compare `.grad` with the record.

An observation contains the gradient and whether it requires a gradient. If the program stored an earlier gradient in a
variable, the observation also has the numbers of that gradient, and whether `.grad` is still the same object at the
same address. Under PyTorch's names, the observation also has the gradient's version, counted from the first
observation of this gradient, because the version at the first observation only shows whether PyTorch made a copy.

An intended difference has a named kind with a pattern and a reason. A question whose difference does not match the
pattern of its kind fails.

    python -m tests.support.vocabulary.gradients        shows the differences
"""

from __future__ import annotations

import json
import math
import re
import sys
import warnings
from dataclasses import dataclass
from typing import Any

import minitensor
from minitensor import torch
from tests.support.vocabulary.programs.running import FACTS, facts_module

asked = facts_module("gradients")
RECORDS: dict[str, dict[str, Any]] = {
    version: record["answers"]
    for version, record in json.loads((FACTS / "gradients.json").read_text(encoding="utf-8")).items()
}
#: A program's result is right if it equals that of one of these versions.
VERSIONS = {"torch": ("torch 2.13.0",), "paddle": ("paddle 2.6.2", "paddle 3.3.1")}
Steps = list[dict[str, Any]]

#: The properties that are not compared under Paddle's names, with the reasons.
OF_PADDLE = {
    "version": "every write raises the version; Paddle adds to a gradient without raising it",
    "kept version": "as for version",
    "same object": "Paddle creates a new object at every access to `x.grad`",
    "x.grad is x.grad": "as for same object",
    "one object": "as for same object",
    "wants gradient": "minitensor's gradients have stop_gradient=True; in Paddle the gradient of a leaf has False",
    "strides": "Paddle 2.6.2 has no such attribute",
}


@dataclass(frozen=True)
class Kind:
    """Questions whose answers differ on purpose.

    Attributes:
        why: the reason, in one line.
        like: a pattern that matches each difference in these answers completely.
        questions: the questions, each with its vocabulary in front, such as "torch: repeated backward".
    """

    why: str
    like: str
    questions: tuple[str, ...]


_LEAF = r"error: (OSError: \(External\) )?ValueError: .*Leaf (Var|Tensor) \(\) that doesn't stop gradient .*, here none"
_WANTING = r"noted: \w+ '(?P<a>.*)stop_gradient=False(?P<b>.*)', here '(?P=a)stop_gradient=True(?P=b)'"
DELIBERATE = {
    "a gradient requires no gradient itself": Kind(
        "nothing was recorded for it, so it has `stop_gradient=True`, may be written, and has no derivative. In "
        "Paddle the gradient of a leaf has False, and a write to it is refused",
        rf"{_LEAF}|{_WANTING}|error: none, here RuntimeError|noted: stop_gradient False, here True",
        (
            *("paddle: x.grad.zero_()", "paddle: x.grad.fill_(0)", "paddle: the kept gradient written in place"),
            *("paddle: one element of the gradient assigned", "paddle: a step with momentum, the gradient written"),
            *("paddle: an expanded gradient, then one element written", "paddle: one gradient for two leaves"),
            *("paddle: a retained gradient written in place", "paddle: printed after backward"),
            *("paddle: printed after a second backward", "paddle: printed after a product"),
            *("paddle: printed after a sum alone", "paddle: printed after two uses"),
            *("paddle: printed after it was emptied", "paddle: printed, retained", "paddle: printed, of a hook"),
            *("paddle: printed, of a linear layer", "paddle: stop_gradient of x.grad"),
        ),
    ),
    "a hook is given a copy": Kind(
        "several tensors may use the gradient, and more may be added to it later, so a hook gets a copy. A hook that "
        "changes the gradient must return another one, as both documentations demand. Under PyTorch's names, "
        "a hook may also write into the copy, which then replaces the gradient",
        r"(first|next|first backward|next backward): (grad|kept|same memory) .*|noted: seen .*"
        rf"|{_LEAF}",
        (
            "paddle: a hook that writes what it is given",
            "paddle: a hook that keeps what it is given",
            "paddle: a hook that returns the same tensor each time",
        ),
    ),
    "no reference cycle of a leaf and its gradient": Kind(
        "`backward(create_graph=True)` would make such a cycle, which keeps both in memory. PyTorch warns of it; "
        "minitensor refuses the call, and the error suggests `torch.autograd.grad`",
        r"error: none, here NotImplementedError",
        (
            *("torch: create_graph twice", "torch: create_graph, then plain", "torch: plain, then create_graph"),
            *("torch: plain with create_graph of a linear program", "torch: a retained gradient with create_graph"),
            "torch: printed after create_graph",
        ),
    ),
    "`x.grad = None` empties": Kind(
        "as in PyTorch; Paddle refuses None",
        r"error: ValueError: .*argument \(position 1\) must be Tensor, but got NoneType.*, here none",
        ("paddle: a gradient kept, then x.grad = None, then written", "paddle: a history of gradients"),
    ),
    "right or refused": Kind(
        "backward adds to a gradient that a product saved, so the product's backward raises an error; Paddle does not "
        "count that write and computes a wrong gradient",
        r"error: none, here RuntimeError",
        ("paddle: a gradient saved by a product, then added to",),
    ),
    "`set_to_zero` is accepted as a keyword, too": Kind(
        "Paddle accepts the argument by position only, and fills the gradient with zeros",
        r"emptied: grad \[0.0, 0.0\], here None|\w+( \w+)?: (kept|same memory) .*",
        ("paddle: x.clear_gradient, none",),
    ),
    "no `.data` under Paddle's names": Kind(
        "autograd does not notice writes through `.data`; use `detach()`",
        r"error: (ValueError.*|none), here AttributeError",
        ("paddle: x.grad.data.zero_()",),
    ),
    "a gradient is like its tensor": Kind(
        "a gradient has the shape and dtype of its tensor; another one is refused with the usual type of error",
        r"error: .*, here (ValueError|TypeError)|error: none, here ValueError",
        (
            "paddle: a gradient of another shape assigned",
            "paddle: a gradient of another dtype assigned",
            "paddle: a number assigned",
        ),
    ),
    "`del x.grad`": Kind("in Paddle the process dies", r".*", ("paddle: del x.grad",)),
    "a gradient may take over memory": Kind(
        "if nothing else refers to the memory of an arriving gradient, `.grad` may take it over or have a copy",
        r"noted: where it arrived .*",
        ("torch: an arriving gradient that nobody keeps",),
    ),
}
ON_PURPOSE = {question: name for name, kind in DELIBERATE.items() for question in kind.questions}


def questions() -> list[str]:
    """Return all questions, each after the name of its vocabulary, such as "torch: repeated backward"."""
    return [f"{library}: {question}" for library, versions in VERSIONS.items() for question in RECORDS[versions[0]]]


def unlike(question: str) -> list[str]:
    """Return the differences that do not match the pattern of the question's kind."""
    kind = DELIBERATE.get(ON_PURPOSE.get(question, ""))
    return [text for text in differences(question) if kind is None or not re.fullmatch(kind.like, text, re.DOTALL)]


def ran(library: str, program: str) -> tuple[Steps, str]:
    """Run a program in minitensor. Return its observations, and the type of its error or "none"."""
    names: dict[str, Any] = {library: {"torch": torch, "paddle": minitensor}[library]}
    look, note, steps = asked.looks()
    names |= {"look": look, "note": note}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(program, names)
        except Exception as error:
            return steps, type(error).__name__
    return steps, "none"


def differences(question: str) -> list[str]:
    """Return the differences from the most similar version; an empty list if the result equals that of a version."""
    library, _, name = question.partition(": ")
    steps, error = ran(library, RECORDS[VERSIONS[library][0]][name]["program"])
    found = []
    for version in VERSIONS[library]:
        recorded = RECORDS[version][name]
        wanted = recorded.get("error", "none").partition(":")[0]
        less = [] if wanted == error else [f"error: {recorded.get('error', 'none')}, here {error}"]
        pairs = zip(comparable(library, recorded.get("steps", [])), comparable(library, steps), strict=False)
        less += [text for pair in pairs for text in apart(*pair)]
        if len(recorded.get("steps", [])) != len(steps) and not less:
            less.append(f"{len(recorded['steps'])} steps, here {len(steps)}")
        found.append(less)
    return min(found, key=len)


def comparable(library: str, steps: Steps) -> Steps:
    """Return the observations in a form that can be compared: for Paddle without the properties in OF_PADDLE, for
    PyTorch with versions relative to the first version of each gradient.
    """
    rows = [dict(step) for step in steps]
    first: dict[str, int] = {}
    for row in rows:
        if library == "paddle":
            for name in OF_PADDLE:
                row.pop(name, None)
            continue
        if not row.get("same memory", True):
            first.pop("version", None)
        for name in ("version", "kept version"):
            if name in row:
                row[name] -= first.setdefault(name, row[name])
    return rows


def apart(recorded: dict[str, Any], here: dict[str, Any]) -> list[str]:
    """Return a text for each part of an observation that differs. A part that is recorded as "no memory" is not
    compared, because Paddle may free the memory of a gradient in a variable.
    """
    return [
        f"{recorded.get('after', 'noted')}: {part} {recorded.get(part)!r}, here {here.get(part)!r}"
        for part in {**recorded, **here}
        if recorded.get(part) != "no memory" and not same(recorded.get(part), here.get(part))
    ]


def same(recorded: Any, here: Any) -> bool:
    """True if two values are equal. Floats may differ by 1e-6, absolutely or relatively."""
    if isinstance(recorded, (list, tuple)) and isinstance(here, (list, tuple)):
        return len(recorded) == len(here) and all(map(same, recorded, here))
    if isinstance(recorded, float) and isinstance(here, float):
        return math.isclose(recorded, here, rel_tol=1e-6, abs_tol=1e-6)
    return type(recorded) is type(here) and recorded == here


def main() -> int:
    """Print the differences that no kind explains, and return their number."""
    found = {question: unlike(question) for question in questions()}
    wrong = {question: less for question, less in found.items() if less}
    for question, less in wrong.items():
        print(question, *less, sep="\n    ")
    print(f"{len(found) - len(wrong) - len(ON_PURPOSE)} the same, {len(wrong)} different, {len(ON_PURPOSE)} on purpose")
    return len(wrong)


if __name__ == "__main__":
    sys.exit(min(main(), 100))
