"""Programs of PyTorch and Paddle on the stage: run here where the framework is installed, else as they were recorded.

``show("../facts/own-programs.json", "a recurrent state", "torch")`` gives the stage, and ``explained`` what the command
line says of the program.
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
from memory_stage.web.embed import page_assets


@dataclass
class Shown:
    """A stage, and one line that says where its program ran."""

    stage: Stage
    where: str

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        shown = self.stage._repr_mimebundle_(include, exclude)
        line = f'<div class="mt-note mathjax_ignore"><p class="mt-kind">{html.escape(self.where)}</p></div>\n'
        styles = page_assets("quiz.css", package="book_kit.web")
        return {
            "text/plain": f"{self.where}\n{shown['text/plain']}",
            "text/html": styles + line + shown["text/html"],
        }


def explained(file: str | Path, name: str, library: str) -> str:
    """What ``python -m memory_stage --explain`` has said of a program that stands in a record.

    Raises:
        FileNotFoundError, LookupError: as :func:`show` does.
    """
    _, kept = _kept(Path(file), name, library)
    return str(kept["explained"])


def show(file: str | Path, name: str, library: str) -> Shown:
    """The stage of a program that stands in a record.

    Args:
        file: a record in the book's folder of facts.
        name: of the program there.
        library: whose tensors it is about, as ``torch``. Where it is installed the program runs now.

    Raises:
        FileNotFoundError: when there is no such record.
        LookupError: when it holds no such program of that library.
    """
    record, kept = _kept(Path(file), name, library)
    recorded = f"{NAMES[library]} {record['version']}"
    if importlib.util.find_spec(library) is None:
        return Shown(Stage.of(kept["stage"]), f"Recorded with {recorded}, on its {record['device']}.")
    installed = importlib.import_module(library).__version__.partition("+")[0]
    return Shown(stage_of(kept["program"], titled(name, library)), f"Run just now with {NAMES[library]} {installed}.")


def _kept(file: Path, name: str, library: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The record that has the program, of several the newest version's, and what it holds of it."""
    records = json.loads(file.read_text(encoding="utf-8"))
    found = [record for record in records.values() if record["library"] == library and name in record["answers"]]
    if not found:
        known = [f"{each!r} of {record['library']}" for record in records.values() for each in record["answers"]]
        raise LookupError(f"{file.name} has no program {name!r} of {library}; it has {', '.join(known)}")
    return found[-1], found[-1]["answers"][name]


def titled(name: str, library: str) -> str:
    """The title of a program's stage: a page may have the same program of several libraries."""
    return f"{name[0].upper()}{name[1:]}, in {NAMES[library]}"


def stage_of(program: str, title: str | None = None) -> Stage:
    """The stage of a program, which prints nothing here."""
    with contextlib.redirect_stdout(io.StringIO()):
        return api.record(program, title=title)
