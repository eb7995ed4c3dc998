"""Programs and exercises that a reader writes in a page of the book, where Python runs in the reader's browser.

The page sends text, and is answered in text: JSON both ways. What a program prints, an error and a name are texts in
that answer, and never markup. A program that is none, or that fails, is an answer like any other.

* Every request begins alike, whatever those before it did: policy "2.6", recording of gradients on, tensors on the
  CPU, the same random numbers.
* A program finds the names that the book's programs use: ``mt``, ``F``, ``nn``, ``np``, ``torch`` and ``paddle``. The
  last two are minitensor, in PyTorch's vocabulary and in Paddle's; what imports them by name gets the same.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import io
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import minitensor
import minitensor.torch
from minitensor.explaining import Listener
from minitensor.modes import DEFAULT_POLICY, modes, set_inplace_policy
from minitensor.notebook import exercise
from minitensor.notebook.explain_html import as_data
from minitensor.stage import stages
from minitensor.stage.recording.record import Recording, line_in

#: What a page offers to run a program on: the word for it -> the arguments of ``set_device``.
DEVICES: dict[str, dict[str, Any]] = {
    "cpu": {"device": "cpu"},
    "gpu:sim": {"device": "gpu:sim", "profile": "torch"},
    "gpu:sim paddle": {"device": "gpu:sim", "profile": "paddle"},
}
#: What Python says of a text that is no program. A null byte is a ValueError, what is too deep is one of the last two.
NO_PROGRAM = (SyntaxError, ValueError, RecursionError, MemoryError)
MOST_PRINTED = 20_000  # characters of what an exercise prints, or a program after its last step
MOST_SHOWN = 4_000_000  # characters of a recording: some hundred times that of a long program of the book


def answer(request: str) -> str:
    """What a page is answered: ``request`` is the JSON of a dict whose ``do`` says what is asked for.

    Raises:
        ValueError: for a request that no page sends.
    """
    asked = json.loads(request)
    ways: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
        "record": recorded,
        "explain": explained,
        "check": checked,
    }
    if asked.get("do") not in ways:
        raise ValueError(f"a page asks to {', '.join(ways)}; not to {asked.get('do')!r}")
    text = json.dumps(ways[asked["do"]](asked), ensure_ascii=False, separators=(",", ":"))
    if len(text) > MOST_SHOWN:
        return json.dumps({"failed": f"What was recorded is too large to show: {len(text):,} characters."})
    return text


# ---------- programs ----------


def recorded(asked: dict[str, Any]) -> dict[str, Any]:
    """The trace of ``variants``, each an ``id``, a ``label``, its ``code`` and its ``policy``, on one ``device``."""
    done = []
    for variant in asked["variants"]:
        with _afresh(asked["device"]):
            try:
                done.append(
                    stages.run_variant(
                        variant["code"],
                        _names(),
                        id_=variant["id"],
                        label=variant["label"],
                        policy=variant["policy"],
                        file=f"<program {variant['id']}>",
                    )
                )
            except NO_PROGRAM as error:
                done.append(no_program(variant, error))
            except KeyboardInterrupt:
                return {"failed": "The program raised KeyboardInterrupt, which ends a recording."}
    shown = stages.Stage(done, asked["title"], asked["ask"], asked["heading"])
    return {"trace": shown.data}


def no_program(variant: dict[str, Any], error: Exception) -> Recording:
    """What a stage shows for a text that is no program: the error at its line, and that nothing has run."""
    code = variant["code"].splitlines() or [""]
    line = min(max(1, getattr(error, "lineno", None) or 1), len(code))
    step = {
        "line": line,
        "end": line,
        "phase": "forward",
        "say": f"Line {line} is not Python, so no line has run.",
        "allocated": 0,
        "peak": 0,
        "events": [{"do": "raise", "text": _worded(error)}],
    }
    shown = {"id": variant["id"], "label": variant["label"], "code": code, "verdict": "raises", "truncated": None}
    return Recording({**shown, "policy": variant["policy"], "steps": [step]}, error, "cpu")


def explained(asked: dict[str, Any]) -> dict[str, Any]:
    """What ``explain`` says of the in-place operations of a program, ``code``, under ``policy`` on ``device``."""
    file = "<program>"
    stages.recording.register(file, asked["code"])
    with _afresh(asked["device"]):
        try:
            program = compile(asked["code"], file, "exec", dont_inherit=True)
        except NO_PROGRAM as error:
            return {"failed": _where(error, file)}
        with Listener() as listener, set_inplace_policy(asked["policy"]):
            try:
                exec(program, _names())
            except BaseException as error:
                listener.ended(error)
    return {"report": as_data(listener.report)}


# ---------- exercises ----------


def checked(asked: dict[str, Any]) -> dict[str, Any]:
    """What ``check`` says of an answer: ``code``, the cell that a reader wrote, after the cells ``before`` it."""
    names = _names()
    reports: list[exercise.Report] = []

    def check(*arguments: Any, **settings: Any) -> exercise.Report:
        reports.append(exercise.check(*arguments, **settings))
        return reports[-1]

    with _afresh("cpu") as printed:
        exec(compile(asked["before"], "<before the exercise>", "exec", dont_inherit=True), names)
        names["check"] = check
        gc.collect()  # tests may count bytes: what earlier requests have left does not come free among them
        printed.seek(0)
        printed.truncate()
        try:
            exec(compile(asked["code"], "<your answer>", "exec", dont_inherit=True), names)
        except BaseException as error:
            return {"error": _where(error, "<your answer>"), "printed": printed.getvalue()}
    if not reports:
        return {"error": "Nothing was checked: leave the line with `check(...)` as it was.", "printed": ""}
    return {"report": reports[-1].as_data(), "printed": printed.getvalue()}


def _where(error: BaseException, file: str) -> str:
    """An error, and the line of ``file`` that raised it."""
    line = line_in(error, file) or (error.lineno if isinstance(error, SyntaxError) else None)
    return _worded(error) + (f" (line {line})" if line else "")


def _worded(error: BaseException) -> str:
    """An error as Python prints it, without the line that it quotes."""
    told = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {told}".removesuffix(": ")


# ---------- what every request begins with ----------


class _Printed(io.StringIO):
    """Keeps the beginning of what is printed."""

    def write(self, text: str) -> int:
        room = MOST_PRINTED - self.tell()
        if room > 0:
            super().write(text[:room])
        return len(text)

    def close(self) -> None:
        """A program may close what it prints to; what it has printed stays."""


@contextlib.contextmanager
def _afresh(device: str) -> Iterator[_Printed]:
    """The state that a new process has, with new tensors on ``device``; gives what is printed that no step shows."""
    if device not in DEVICES:
        raise ValueError(f"a page offers the devices {', '.join(DEVICES)}, not {device!r}")
    modes.grad, modes.policy = True, DEFAULT_POLICY
    minitensor.seed(0)
    minitensor.set_device(**DEVICES[device])
    printed = _Printed()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            yield printed
        finally:
            modes.grad, modes.policy = True, DEFAULT_POLICY
            minitensor.set_device("cpu")


def _names() -> dict[str, Any]:
    """The global names that a program finds."""
    return {
        "__name__": "__main__",
        "mt": minitensor,
        "np": np,
        "nn": minitensor.nn,
        "F": minitensor.nn.functional,
        "torch": minitensor.torch,
        "paddle": minitensor,
        "input": _not_here("input asks a reader, who cannot answer here: write the value into the program"),
    }


def _not_here(why: str) -> Callable[..., Any]:
    """A function that a page cannot have: whoever calls it is told why."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise RuntimeError(why)

    return refuse


def stand_in() -> None:
    """From now on ``import torch`` and ``import paddle`` find minitensor, parts of them included.

    For a page, where neither can be installed. Their own parts that are not there stay missing.
    """
    for name, package in (("torch", "minitensor.torch"), ("paddle", "minitensor")):
        for found in [each for each in sys.modules if f"{each}.".startswith(f"{package}.")]:
            sys.modules[name + found.removeprefix(package)] = sys.modules[found]


def forget_javascript() -> None:
    """From now on a program finds neither ``js`` nor ``pyodide_js``, by which Python speaks to the page.

    What Pyodide waits with goes with them.
    """
    for name in [each for each in sys.modules if each.partition(".")[0] in ("js", "pyodide_js")]:
        del sys.modules[name]
    asyncio.run = _not_here("asyncio.run cannot wait here: a program of a page runs in one go")
