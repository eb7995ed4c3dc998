"""Record the answers of one library to questions that may kill the process, or keep it busy forever."""

from __future__ import annotations

import gzip
import importlib
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def recorded(file: Path) -> dict[str, dict[str, Any]]:
    """Return the answers of each library and version; an empty dict if there is no file."""
    found: dict[str, dict[str, Any]] = json.loads(gzip.decompress(file.read_bytes())) if file.exists() else {}
    return found


def record(
    file: Path,
    questions: Callable[[str], list[str]],
    ask: Callable[[str, Any, str], Any],
    dead: Callable[[str], Any],
    seconds: int,
) -> None:
    """Record the answers of the library that the command line names.

    The running script is started again in a separate process, which prints the answers. If a question kills this
    process, another process asks the next question.

    Args:
        questions: returns the questions to a library.
        ask: called with the name of a library, its module and a question; returns the answer.
        dead: makes an answer from a text such as "the process died of SIGSEGV".
        seconds: the time after which a question is stopped.
    """
    name = sys.argv[1]
    asked = questions(name)
    library = importlib.import_module(name)
    if len(sys.argv) > 2:  # this is the separate process; the argument is the number of its first question
        for question in asked[int(sys.argv[2]) :]:
            signal.alarm(seconds)
            print("answer", json.dumps(ask(name, library, question)), flush=True)
        return
    version = library.__version__.partition("+")[0]
    records = recorded(file) | {f"{name} {version}": _answers(name, asked, dead)}
    text = json.dumps(dict(sorted(records.items())), separators=(",", ":"))
    file.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    print(f"{len(asked)} answers; {file.stat().st_size} bytes")


def _answers(library: str, asked: list[str], dead: Callable[[str], Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    while len(found) < len(asked):
        command = [sys.executable, sys.argv[0], library, str(len(found))]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            for line in process.stdout:
                if line.startswith("answer "):
                    found[asked[len(found)]] = json.loads(line.removeprefix("answer "))
        if process.returncode > 0:
            raise RuntimeError(f"{asked[len(found)]} could not be recorded; see the traceback above")
        if process.returncode < 0:
            found[asked[len(found)]] = dead(f"the process died of {signal.Signals(-process.returncode).name}")
    return found
