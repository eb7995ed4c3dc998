"""Run a reader's programs and exercises in a page of the book, where Python runs in the reader's browser.

The page sends JSON and receives JSON. The answer contains output, errors and names as text, never as markup. If a
program fails or has a syntax error, the answer contains the error.

* Every request begins in the same state, so that earlier requests have no effect (``reset_state``).
* A program has the names that the book's programs use: ``mt``, ``F``, ``nn``, ``np``, ``torch`` and ``paddle``. The
  last two are minitensor under PyTorch's and Paddle's names, even if a program imports them.
"""

from __future__ import annotations

import ast
import gc
import json
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any

from book_kit.in_page.page_loop import wait_by_sleeping
from book_kit.in_page.reset_state import afresh, names
from book_kit.questions import exercise
from book_kit.widgets.report_html import as_data
from memory_stage import api
from memory_stage.explanation.minitensor import Listener
from memory_stage.explanation.verdict import Verdict
from memory_stage.messages import language, message, sentences, speaking
from memory_stage.messages.catalogues import LOCALES
from memory_stage.messages.message import texts_of
from memory_stage.recorder.record import Awaiting, RecordedRun, line_in
from minitensor.engine.modes import set_inplace_policy

#: Python's errors for a text that cannot be compiled, because of its syntax, a null byte or too many nested brackets.
NO_PROGRAM = (SyntaxError, ValueError, RecursionError, MemoryError)
# The largest number of characters of an answer. The recording of a long program of the book has a hundredth of that.
MOST_SHOWN = 4_000_000


def answer(request: str) -> str:
    """Answer a request of a page.

    Args:
        request: a dict as JSON. Its key ``do`` names the action: "record", "explain" or "check". Its key ``language``
            has the language of the page; if there is no catalogue for it, stages and reports are in English. The
            functions for the actions describe the other keys.

    Returns:
        The result of the action as JSON, or a dict with only the key ``failed`` if the result is too large.

    Raises:
        ValueError: if the action is unknown.
    """
    asked = json.loads(request)
    actions: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
        "record": record,
        "explain": explain,
        "check": check_answer,
    }
    if asked.get("do") not in actions:
        raise ValueError(f"do must be one of {', '.join(actions)}, not {asked.get('do')!r}")
    code = asked.get("language", "en").partition("-")[0]
    with speaking(language(code if code in LOCALES else "en")):
        text = json.dumps(actions[asked["do"]](asked), ensure_ascii=False, separators=(",", ":"))
    if len(text) > MOST_SHOWN:
        return json.dumps({"failed": f"The recording is too large to show: {len(text):,} characters."})
    return text


# ---------- programs ----------


def record(asked: dict[str, Any]) -> dict[str, Any]:
    """Run the ``variants`` of a program one after another on ``device``, and return their trace.

    Return ``failed`` instead of the trace if a variant raises KeyboardInterrupt. Each variant has ``id``, ``label``,
    ``code`` and ``policy``. The optional ``depth`` is the depth that the stage on the page shows.
    """
    done = []
    for variant in asked["variants"]:
        with afresh(asked["device"]) as printed:
            try:
                done.append(
                    api.run_variant(
                        variant["code"],
                        names(),
                        id_=variant["id"],
                        label=variant["label"],
                        policy=variant["policy"],
                        file=f"<program {variant['id']}>",
                        flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT,
                    )
                )
                _append_output(done[-1], printed.end)
            except NO_PROGRAM as error:
                done.append(_recording_of_error(variant, error))
            except KeyboardInterrupt:
                return {"failed": "The program raised KeyboardInterrupt, which ends a recording."}
    shown = api.Stage(done, asked["title"], asked["ask"], asked["heading"], depth=asked.get("depth"))
    return {"trace": shown.data}


def _append_output(done: RecordedRun, printed: str) -> None:
    """Extend the note about the end of the recording by ``printed``, the output after the last recorded step.

    A notebook would show this output under the cell.
    """
    if printed and done.variant["truncated"]:
        why = next(each.text for each in done.texts if each.key == "truncated")
        end = message("The end of its later output:\n{printed}", printed=printed)
        done.variant["truncated"] = sentences([why, end])
        done.texts = [each for each in done.texts if each.key != "truncated"]
        done.texts += texts_of([done.variant], ["truncated"])


def _recording_of_error(variant: dict[str, Any], error: Exception) -> RecordedRun:
    """Return a recording of a variant that cannot be compiled. Its only step shows the error."""
    code = variant["code"].splitlines() or [""]
    line = min(max(1, getattr(error, "lineno", None) or 1), len(code))
    step = {
        "line": line,
        "end": line,
        "phase": "forward",
        "say": message("Line {line} is not Python, so no line has run.", line=line),
        "allocated": 0,
        "peak": 0,
        "events": [{"do": "raise", "text": _describe(error)}],
    }
    shown = {"id": variant["id"], "label": variant["label"], "code": code, "verdict": Verdict.RAISES.said}
    shown |= {"truncated": None, "policy": variant["policy"], "steps": [step]}
    return RecordedRun(shown, texts_of([step], ["say"]) + texts_of([shown], ["verdict"]), error, "cpu")


def explain(asked: dict[str, Any]) -> dict[str, Any]:
    """Return the report on the in-place operations of the program ``code`` under ``policy`` on ``device``.

    Return ``failed`` with the error instead of the report if the program cannot be compiled.
    """
    file = "<program>"
    api.recording.register(file, asked["code"])
    with afresh(asked["device"]):
        try:
            program = _compile(asked["code"], file)
        except NO_PROGRAM as error:
            return {"failed": _error_with_line(error, file)}
        with Listener() as listener, set_inplace_policy(asked["policy"]):
            try:
                _execute(program, names())
            except BaseException as error:
                listener.ended(error)
    return {"report": as_data(listener.report)}


# ---------- exercises ----------


def check_answer(asked: dict[str, Any]) -> dict[str, Any]:
    """Run the cells ``before`` an exercise and the reader's cell ``code``. Return the report of the cell's `check`.

    Return ``error`` instead of the report if the cell ``code`` raises an error or does not call `check`.
    """
    given = names()
    reports: list[exercise.ExerciseReport] = []

    def check(*arguments: Any, **settings: Any) -> exercise.ExerciseReport:
        reports.append(exercise.check(*arguments, **settings))
        return reports[-1]

    with afresh("cpu") as printed:
        _execute(_compile(asked["before"], "<before the exercise>"), given)
        given["check"] = check
        gc.collect()  # tests may count bytes, so objects of earlier requests must not be freed while they run
        printed.forget()
        try:
            _execute(_compile(asked["code"], "<your answer>"), given)
        except BaseException as error:
            return {"error": _error_with_line(error, "<your answer>"), "printed": printed.beginning}
    if not reports:
        return {"error": "Nothing was checked: leave the line with `check(...)` as it was.", "printed": ""}
    return {"report": reports[-1].as_data(), "printed": printed.beginning}


# ---------- running without a recording ----------


def _compile(source: str, file: str) -> CodeType:
    """Compile a program. It may contain ``await`` at its top level."""
    return compile(source, file, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)


def _execute(program: CodeType, given: dict[str, Any]) -> None:
    coroutine, awaiting = eval(program, given), Awaiting()
    if coroutine is not None:  # the program awaits at its top level
        try:
            awaiting.finish(coroutine)
        finally:
            awaiting.close()


def _error_with_line(error: BaseException, file: str) -> str:
    """Return an error as text, with the line of ``file`` that raised it."""
    line = line_in(error, file) or (error.lineno if isinstance(error, SyntaxError) else None)
    return _describe(error) + (f" (line {line})" if line else "")


def _describe(error: BaseException) -> str:
    """Return an error in Python's words, without the source line."""
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {message}".removesuffix(": ")


# ---------- modules of a program ----------


def stand_in() -> None:
    """Let ``import torch`` and ``import paddle`` import minitensor's modules, also for submodules.

    Neither framework can be installed in a page. Importing a submodule that minitensor lacks raises ImportError.
    """
    for name, package in (("torch", "minitensor.torch"), ("paddle", "minitensor")):
        for found in [each for each in sys.modules if f"{each}.".startswith(f"{package}.")]:
            sys.modules[name + found.removeprefix(package)] = sys.modules[found]


def forget_javascript() -> None:
    """Remove the modules ``js`` and ``pyodide_js``, with which a program could call the page's JavaScript.

    Pyodide's event loop needs these modules, so an event loop that waits by sleeping replaces it.
    """
    for name in [each for each in sys.modules if each.partition(".")[0] in ("js", "pyodide_js")]:
        del sys.modules[name]
    wait_by_sleeping()
