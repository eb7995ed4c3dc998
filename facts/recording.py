"""Runs programs in the frameworks and keeps what came, for the records beside this file.

A record holds each program as it ran, the first line of the error where one came, and the values of some
expressions afterwards (also after an error: what a refused operation leaves behind is a fact, too).
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: Per question: the program of each library, and the expressions to look at afterwards.
Questions = dict[str, tuple[dict[str, str], list[str]]]
#: Runs the program of a library and looks at the expressions.
Ask = Callable[[str, str, list[str]], dict[str, Any]]


def ask(library: str, program: str, expressions: list[str]) -> dict[str, Any]:
    """Run `program`, then evaluate the expressions; one that can not be evaluated is left out."""
    names: dict[str, Any] = {library: importlib.import_module(library)}
    answer: dict[str, Any] = {"program": program}
    try:
        exec(program, names)
    except Exception as error:
        text = str(error).strip() or "(no message)"
        answer["error"] = f"{type(error).__name__}: {text.splitlines()[0]}"
    answer["values"] = {}
    for expression in expressions:
        try:
            answer["values"][expression] = eval(expression, names)
        except (AttributeError, NameError):
            continue
    return answer


def record(library: str, questions: Questions, ask: Ask = ask) -> dict[str, Any]:
    """All answers of one library, with its version."""
    answers = {
        question: ask(library, programs[library], expressions)
        for question, (programs, expressions) in questions.items()
        if library in programs
    }
    version = importlib.import_module(library).__version__.partition("+")[0]
    return {"library": library, "version": version, "device": "CPU", "answers": answers}


def write(file: Path, questions: Questions, ask: Ask = ask) -> None:
    """Put the answers of the library named on the command line into `file`, beside those of the others."""
    library = sys.argv[1]
    records = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    new = record(library, questions, ask)
    records[f"{library} {new['version']}"] = new
    file.write_text(json.dumps(dict(sorted(records.items())), indent=1) + "\n", encoding="utf-8")


def apart(run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What `run` answers in a process of its own, so that a program which kills its process is a fact like another.

    The answer of such a program is {"error": "the process died of SIGSEGV"}. Needs `os.fork`.
    """
    source, sink = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(source)
        status = 1
        try:
            faulthandler.disable()
            with os.fdopen(sink, "w", encoding="utf-8") as stream:
                json.dump(run(), stream)
            status = 0
        finally:
            os._exit(status)
    os.close(sink)
    with os.fdopen(source, encoding="utf-8") as stream:
        answer = stream.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return {"error": f"the process died of {signal.Signals(os.WTERMSIG(status)).name}"}
    if status:
        raise RuntimeError("a program could not be recorded; its process ended early (see above)")
    return json.loads(answer)
