"""What becomes of a gradient that a program keeps, beside what the frameworks do (``facts/gradients.json``).

Every program of the record runs here with only the import changed, in PyTorch's vocabulary and in Paddle's. What it
saw after each step is compared: the gradient, the one that was kept before, whether both are one tensor and lie at one
address, by how much the version rose. What differs is of a kind that is named below.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import minitensor as mt
import minitensor.nn
import minitensor.optimizer
import minitensor.torch as torch

FACTS = Path(__file__).parents[2] / "facts"
RECORD = json.loads((FACTS / "gradients.json").read_text())
#: The version of each framework that is compared with, and what stands for it here.
HERE: dict[str, tuple[str, Any]] = {"torch 2.13.0": ("torch", torch), "paddle 3.3.1": ("paddle", mt)}

LEFT_OUT = "a name that is left out or comes elsewhere"
NO_CYCLE = (
    "backward(create_graph=True) is refused: it would tie a gradient to its leaf; grad(create_graph=True) is there"
)
NO_LEAF = "Paddle's gradients are leaves that want a gradient, so that it refuses to write them; here they want none"
OWN_COPY = "a hook is given a copy here, whatever it does to it"
ALIKE = "shape and dtype of an assigned gradient are checked here"
STALE = "right or refused: what a product saved was overwritten"

DIFFERENT: dict[tuple[str, str], str] = {
    ("torch", "clipped"): LEFT_OUT,
    ("torch", "clipped by value"): LEFT_OUT,
    ("torch", "a hook after the gradient is added"): LEFT_OUT,
    ("torch", "a hook after the gradient is added empties it"): LEFT_OUT,
    ("torch", "create_graph twice"): NO_CYCLE,
    ("torch", "create_graph, then plain"): NO_CYCLE,
    ("torch", "plain, then create_graph"): NO_CYCLE,
    ("torch", "plain with create_graph of a linear program"): NO_CYCLE,
    ("torch", "a retained gradient with create_graph"): NO_CYCLE,
    ("torch", "printed after create_graph"): NO_CYCLE,
    ("torch", "a gradient that wants a gradient assigned"): "its history, which may lead back to the leaf, is left",
    ("torch", "an arriving gradient that nobody keeps"): OWN_COPY,
    ("torch", "a hook that writes what it is given"): OWN_COPY,
    ("torch", "a leaf that is a transposed tensor"): "a gradient is contiguous here, whatever its leaf is",
    ("paddle", "clipped"): LEFT_OUT,
    ("paddle", "clipped by value"): LEFT_OUT,
    ("paddle", "a hook after the gradient is added"): LEFT_OUT,
    ("paddle", "a hook after the gradient is added empties it"): LEFT_OUT,
    ("paddle", "x.grad.data.zero_()"): LEFT_OUT,
    ("paddle", "a module's gradients, none"): LEFT_OUT,
    ("paddle", "x.clear_gradient, none"): "it drops the gradient here, as the optimizer's does in Paddle",
    ("paddle", "a gradient of another shape assigned"): ALIKE,
    ("paddle", "a gradient of another dtype assigned"): ALIKE,
    ("paddle", "a gradient saved by a product, then added to"): STALE,
    ("paddle", "a hook that keeps what it is given"): OWN_COPY,
    ("paddle", "a hook that returns the same tensor each time"): OWN_COPY,
    ("paddle", "a hook that writes what it is given"): OWN_COPY,
    ("paddle", "a gradient kept, then x.grad = None, then written"): "memory is not taken away from who holds it",
    ("paddle", "a retained gradient, twice"): "retained gradients add up, as those of leaves do",
    ("paddle", "del x.grad"): "the framework's process dies",
    ("paddle", "a history of gradients"): "memory is not taken away from who holds it",
    **{
        ("paddle", question): NO_LEAF
        for question in (
            "x.grad.zero_()",
            "x.grad.fill_(0)",
            "the kept gradient written in place",
            "one element of the gradient assigned",
            "a step with momentum, the gradient written",
            "an expanded gradient, then one element written",
            "one gradient for two leaves",
            "a retained gradient written in place",
            "stop_gradient of x.grad",
        )
    },
}

#: What is not compared, and why. Paddle makes another Python object of one tensor at each look, wants a gradient for
#: gradients, and does not count their versions; 2.6 has no strides to ask for.
NOT_COMPARED = {
    "torch": {"version", "kept version", "after"},
    "paddle": {
        "version",
        "kept version",
        "after",
        "strides",
        "same object",
        "wants gradient",
        "one object",
        "x.grad is x.grad",
    },
}


def answered(monkeypatch: pytest.MonkeyPatch, library: str, program: str) -> dict[str, Any]:
    monkeypatch.syspath_prepend(str(FACTS))
    gradients = importlib.import_module("gradients")
    here = {name: module for name, module in HERE.values()}
    monkeypatch.setitem(sys.modules, library, here[library])
    return gradients.answered(library, program)


def comparable(library: str, step: dict[str, Any]) -> dict[str, Any]:
    found = {what: value for what, value in step.items() if what not in NOT_COMPARED[library]}
    if found.get("kept") == "no memory":
        del found["kept"]  # here who holds it keeps the numbers
    for what in ("repr", "bias", "weight"):
        if library == "paddle" and what in found:
            found[what] = found[what].replace("stop_gradient=False", "stop_gradient=True")
    return found


CASES = [
    pytest.param(HERE[version][0], question, answer, id=f"{HERE[version][0]}: {question}")
    for version in HERE
    for question, answer in RECORD[version]["answers"].items()
]


@pytest.mark.parametrize(("library", "question", "answer"), CASES)
def test_a_gradient_that_is_kept_does_what_it_does_in_the_framework(
    monkeypatch: pytest.MonkeyPatch, library: str, question: str, answer: dict[str, Any]
):
    got = answered(monkeypatch, library, answer["program"])
    pairs = list(zip(answer.get("steps", []), got["steps"], strict=False))
    alike = len(got["steps"]) == len(answer.get("steps", [])) and ("error" in got) == ("error" in answer)
    for theirs, ours in pairs:
        wanted = comparable(library, theirs)
        alike = alike and wanted == {what: comparable(library, ours).get(what) for what in wanted}
    if library == "torch" and alike:
        alike = rises([theirs for theirs, _ in pairs]) == rises([ours for _, ours in pairs])
    assert alike != ((library, question) in DIFFERENT), (got, answer)


def rises(steps: list[dict[str, Any]]) -> list[int]:
    """By how much the version of one and the same gradient rose from look to look.

    What it begins with depends on whether the framework copied the first one.
    """
    pairs = zip(steps, steps[1:], strict=False)
    return [
        after["version"] - before["version"]
        for before, after in pairs
        if after.get("same memory") and before.get("same memory") and "version" in before and "version" in after
    ]


@pytest.mark.parametrize("library", ["torch", "paddle"])
def test_every_kind_of_difference_is_one_of_a_recorded_program(library: str):
    (version,) = (version for version, (name, _) in HERE.items() if name == library)
    recorded = set(RECORD[version]["answers"])
    assert {question for name, question in DIFFERENT if name == library} <= recorded
