"""Stages of programs for PyTorch and Paddle. If the framework is installed, the program runs now; otherwise the record
of the program is shown.

``show("../facts/own-programs.json", "a recurrent state", "torch")`` returns the stage. ``explained`` returns the report
on the program as the command line prints it.
"""

from __future__ import annotations

import contextlib
import html
import importlib
import importlib.util
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from book_kit.data.library_names import NAMES
from memory_stage import api
from memory_stage.api import Stage
from memory_stage.messages import Text, language, message, said
from memory_stage.web.embed import page_assets

#: The titles of the recorded programs, keyed by their names in the record.
TITLES: dict[str, Text] = {
    "a recurrent state": message("A recurrent state"),
    "a step between two backwards": message("A step between two backwards"),
    "memory that NumPy shares": message("Memory that NumPy shares"),
}


@dataclass
class Shown:
    """A stage, and a line that says on which framework and device its program ran."""

    stage: Stage
    where: str

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        shown = self.stage._repr_mimebundle_(include, exclude)
        line = f'<div class="mt-note mathjax_ignore"><p class="mt-kind">{html.escape(self.where)}</p></div>\n'
        styles = page_assets("quiz.css", package="book_kit.web")
        return {"text/plain": f"{self.where}\n{shown['text/plain']}", "text/html": styles + line + shown["text/html"]}


def explained(file: str | Path, name: str, library: str) -> str:
    """Return the output of ``python -m memory_stage --explain`` for a recorded program, in the notebook's language.

    Raises:
        FileNotFoundError, LookupError: as :func:`show` does.
    """
    _, entry = _find(Path(file), name, library)
    return str(entry["explained"][language().code])


def show(file: str | Path, name: str, library: str) -> Shown:
    """Return the stage of a recorded program. The texts are in the notebook's language if the record has it, or else in
    English.

    Args:
        file: a record in the book's folder of facts.
        name: the name of the program in the record.
        library: the framework of the program, such as ``torch``. If it is installed, the program runs now.

    Raises:
        FileNotFoundError: if there is no such record.
        LookupError: if the record does not contain the program for that library.
    """
    record, entry = _find(Path(file), name, library)
    if importlib.util.find_spec(library) is None:
        kept = entry.get("translated", {}).get(language().code, entry["stage"])
        where = message(
            "Recorded with {library} {version}, on its {device}.",
            library=NAMES[library],
            version=record["version"],
            device=record["device"],
        )
        return Shown(Stage.of(kept), said(where))
    installed = importlib.import_module(library).__version__.partition("+")[0]
    where = message("Run just now with {library} {version}.", library=NAMES[library], version=installed)
    return Shown(stage_of(entry["program"], titled(name, library)), said(where))


def _find(file: Path, name: str, library: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the newest record that contains the program, and the program's entry in it."""
    records = json.loads(file.read_text(encoding="utf-8"))
    found = [record for record in records.values() if record["library"] == library and name in record["answers"]]
    if not found:
        known = [f"{each!r} of {record['library']}" for record in records.values() for each in record["answers"]]
        raise LookupError(f"{file.name} has no program {name!r} of {library}; it has {', '.join(known)}")
    return found[-1], found[-1]["answers"][name]


def titled(name: str, library: str) -> Text:
    """Return the title of a program's stage. It names the library, because a page may show several libraries."""
    program = TITLES.get(name, f"{name[0].upper()}{name[1:]}")
    return message("{program}, in {library}", program=program, library=NAMES[library])


def stage_of(program: str, title: Text | None = None) -> Stage:
    """Record a program and return its stage, without printing the program's output."""
    with contextlib.redirect_stdout(io.StringIO()):
        return api.record(program, title=title)
