"""Run programs in the frameworks, and record the results in the JSON files of this folder.

A record has each program, the first line of its error if it raised one, and the values of some expressions afterwards.
Even if the program raises an error, the expressions are evaluated, because they show the state after the error.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import io
import json
import os
import re
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: Maps a question to the program of each library, and to the expressions to evaluate afterwards.
Questions = dict[str, tuple[dict[str, str], list[str]]]
#: A function that runs the program of a library and evaluates the expressions.
Ask = Callable[[str, str, list[str]], dict[str, Any]]


def ask(library: str, program: str, expressions: list[str]) -> dict[str, Any]:
    """Run `program`, then evaluate the expressions. Skip those that use a name that the library does not have."""
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
    """Return all answers of one library, with its version."""
    answers = {
        question: ask(library, programs[library], expressions)
        for question, (programs, expressions) in questions.items()
        if library in programs
    }
    version = importlib.import_module(library).__version__.partition("+")[0]
    return {"library": library, "version": version, "device": "CPU", "answers": answers}


def write(file: Path, questions: Questions, ask: Ask = ask) -> None:
    """Write to `file` the answers of the library that the command line names, and keep the other records in it."""
    library = sys.argv[1]
    records = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    new = record(library, questions, ask)
    records[f"{library} {new['version']}"] = new
    file.write_text(json.dumps(dict(sorted(records.items())), indent=1) + "\n", encoding="utf-8")


def write_cases(file: Path, library: str, answers: dict[str, Any], digits: int = 17) -> None:
    """Write to `file` how one library answered the cases of a script; 17 `digits` are exact for a float64."""
    version = importlib.import_module(library).__version__.partition("+")[0]
    record = {
        "library": library,
        "version": version,
        "command": f"python facts/{file.with_suffix('.py').name}",
        "answers": answers,
    }
    rounded = json.loads(json.dumps(record), parse_float=lambda text: float(f"{float(text):.{digits}g}"))
    file.write_text(json.dumps(rounded, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{file.name}: {len(answers)} cases of {library} {version}")


#: The exit status of a process in which the recorder itself failed.
RECORDER_FAILED = 70


def apart(run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the answer of `run` in a separate process, so that a program that kills its process can be recorded.

    The answer of such a program is for example {"error": "the process died of SIGSEGV"}. This needs `os.fork`.
    """
    source, sink = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(source)
        status = RECORDER_FAILED
        try:
            faulthandler.disable()
            with os.fdopen(sink, "w", encoding="utf-8") as stream:
                json.dump(run(), stream)
            status = 0
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(sink)
    with os.fdopen(source, encoding="utf-8") as stream:
        answer = stream.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return {"error": f"the process died of {signal.Signals(os.WTERMSIG(status)).name}"}
    if os.WEXITSTATUS(status) == RECORDER_FAILED:
        raise RuntimeError("a program could not be recorded; see the traceback above")
    if status:
        return {"error": f"the process ended with status {os.WEXITSTATUS(status)}"}
    return json.loads(answer)


#: The folder of a package. `without_places` removes or replaces the matches of this and the next patterns, because they
#: differ between machines.
PLACES = re.compile(r"/[^\s'\"()]*/site-packages/")
#: Frames of a traceback that belong to the recorder.
FRAMES = re.compile(r'  File "(?:[^"]*/facts/\w+\.py|<frozen runpy>)", line \d+, in \S+\n(?:    .*\n)?')
#: The same frames in Paddle's C++ format. Frames of Paddle do not match, because their folder is removed first.
CALLS = re.compile(r"\n +/\S+\.py\(\d+\): [^\n]*")
ADDRESSES = re.compile(r"\b0x[0-9a-f]{6,}\b")
#: A temporary folder of a program.
FOLDERS = re.compile(r"/[^\s'\"]*/tmp\w{8}(?=/|\b)")
#: The file name for compiling a program.
PROGRAM = "program.py"


def without_places(text: str) -> str:
    """Return the text without folders and addresses, which differ between machines."""
    text = CALLS.sub("", PLACES.sub("", FRAMES.sub("", text)))
    return FOLDERS.sub("...", ADDRESSES.sub("0x...", text))


def printed(program: str, names: dict[str, Any]) -> dict[str, Any]:
    """Return the output of the program, the type and text of its error, and its warnings. Leave out empty entries.

    `names` are the program's initial names. If the program raises an error, `line` is the line that raised the error.
    """
    names = {"__name__": "__main__", **names}
    answer: dict[str, Any] = {}
    out = io.StringIO()
    with warnings.catch_warnings(record=True) as warned, contextlib.redirect_stdout(out):
        warnings.simplefilter("always")
        try:
            exec(compile(program, PROGRAM, "exec"), names)
        except Exception as error:
            answer["error"] = f"{type(error).__name__}: {without_places(str(error).strip())}"
            lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == PROGRAM]
            if lines:
                answer["line"] = lines[-1]
    if out.getvalue():
        answer["out"] = without_places(out.getvalue())
    if warned:
        answer["warnings"] = [f"{one.category.__name__}: {without_places(str(one.message).strip())}" for one in warned]
    return answer
