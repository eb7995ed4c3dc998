"""Run a learner's program with only its imports changed."""

from __future__ import annotations

import importlib.util
import json
import random
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy

import minitensor
from minitensor import torch

FACTS = Path(__file__).parents[4] / "facts"

#: For each framework, the import of minitensor that replaces the framework's.
IMPORTS = {
    "torch": [
        (re.compile(r"^(\s*)import torch$", re.M), r"\1from minitensor import torch"),
        (re.compile(r"^(\s*)import torch\.(\S+) as ", re.M), r"\1import minitensor.torch.\2 as "),
        (re.compile(r"^(\s*)from torch\b", re.M), r"\1from minitensor.torch"),
    ],
    "paddle": [
        (re.compile(r"^(\s*)import paddle$", re.M), r"\1import minitensor as paddle"),
        (re.compile(r"^(\s*)import paddle\.(\S+) as ", re.M), r"\1import minitensor.\2 as "),
        (re.compile(r"^(\s*)from paddle\b", re.M), r"\1from minitensor"),
    ],
}


def facts_module(name: str) -> ModuleType:
    """Import a script of facts/, so that the code that recorded the programs also runs them in minitensor."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, FACTS / f"{name}.py")
        assert spec and spec.loader
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


recording = facts_module("recording")
programs_recorder = facts_module("programs")
facts_module("digits")  # the programs import this module
facts_module("crashing")  # two recorders import this module


def programs(vocabulary: str) -> dict[str, str]:
    """Map the name of each program of "torch" or "paddle" to its text."""
    return {
        file.stem: file.read_text(encoding="utf-8") for file in sorted((FACTS / "programs" / vocabulary).glob("*.py"))
    }


def records() -> dict[str, dict[str, dict[str, Any]]]:
    """Map each framework with its version, such as "torch 2.13.0", to the results of all programs."""
    reported = json.loads((FACTS / "programs.json").read_text(encoding="utf-8"))
    return {version: record["answers"] for version, record in reported.items()}


def with_changed_imports(vocabulary: str, program: str) -> str:
    """Return the program with its imports replaced by minitensor's. Line numbers do not change."""
    for pattern, instead in IMPORTS[vocabulary]:
        program = pattern.sub(instead, program)
    return program


def ran(vocabulary: str, program: str) -> dict[str, Any]:
    """Run the program in minitensor and return its result in the form of the record: `out`, `error`, `line` and
    `warnings`.
    """
    as_at_the_start()
    try:
        return recording.printed(with_changed_imports(vocabulary, program), {})
    finally:
        as_at_the_start()


def as_at_the_start() -> None:
    """Reset modes and random numbers, so that every program starts as in a new process."""
    minitensor.set_inplace_policy("2.6")
    minitensor.set_device("cpu")
    torch.set_grad_enabled(True)
    torch.set_printoptions(profile="default")
    torch.autograd.set_detect_anomaly(False)
    minitensor.seed(0)
    torch.manual_seed(0)
    random.seed(0)
    numpy.random.seed(0)
