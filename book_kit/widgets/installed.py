"""Asks the frameworks that a reader has installed what a page shows as recorded: has it changed since?

    installed.show("../facts/views.json")

A framework is asked in a process of its own, by ``python -m facts check``: the notebook's process never imports it.
Those that are not installed are named, with the version whose answers the page shows.
"""

from __future__ import annotations

import html
import importlib.util
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from book_kit.data.library_names import NAMES
from memory_stage.web.embed import page_assets


@dataclass
class Asked:
    """What came of asking: shown as lines of text.

    Attributes:
        lines: a sentence for each library, and for each answer that has changed.
        changed: how many answers have.
    """

    lines: list[str]
    changed: int

    def __repr__(self) -> str:
        return "\n".join(self.lines)

    def _repr_html_(self) -> str:
        """The same lines as text that wraps."""
        lines = "".join(f"<p>{html.escape(line)}</p>" for line in self.lines)
        note = f'<div class="mt-note mathjax_ignore" style="font-size:14px">{lines}</div>'
        return page_assets("quiz.css", package="book_kit.web") + note


def show(file: str | Path, python: str = sys.executable) -> Asked:
    """Ask the installed frameworks again what ``file`` holds of them.

    Args:
        file: a record in the book's folder of facts.
        python: the interpreter in whose environment they are.

    Raises:
        FileNotFoundError: when there is no such record.
    """
    file = Path(file).resolve()
    records = json.loads(file.read_text(encoding="utf-8"))
    versions: dict[str, list[str]] = {}
    for record in [records] if "library" in records else records.values():
        versions.setdefault(record["library"], []).append(record["version"])
    found = Asked([], 0)
    for library, recorded in versions.items():
        if library == "minitensor":
            continue
        shown = f"{NAMES[library]} {' and '.join(recorded)}"
        if python == sys.executable and importlib.util.find_spec(library) is None:
            found.lines.append(f"{NAMES[library]} is not installed here. The page shows what {shown} answered.")
        else:
            _ask(python, library, file, shown, found)
    return found


def _ask(python: str, library: str, file: Path, shown: str, found: Asked) -> None:
    command = [python, "-m", "facts", "check", library, file.name, "--json"]
    ran = subprocess.run(command, cwd=file.parents[1], capture_output=True, text=True)
    if ran.returncode not in (0, 1) or not ran.stdout.strip():
        said = (ran.stderr.strip() or f"status {ran.returncode}").splitlines()[-1]
        found.lines.append(f"{NAMES[library]} could not be asked ({said}). The page shows what {shown} answered.")
        return
    (checked,) = json.loads(ran.stdout.splitlines()[-1])
    name = f"{NAMES[library]} {checked['installed']}, installed here,"
    compared = f"{NAMES[library]} {checked['recorded']}"
    if not checked["changes"]:
        found.lines.append(f"{name} was asked just now: {checked['asked']} answers, all as recorded from {compared}.")
        return
    count = len(checked["changes"])
    found.changed += count
    found.lines.append(f"{name} was asked just now: {count} of {checked['asked']} answers are not those of {compared}.")
    found.lines += [
        f"  {change['question']}: {_brief(change['then'])} -> {_brief(change['now'])}" for change in checked["changes"]
    ]


def _brief(answer: Any) -> str:
    if isinstance(answer, dict):
        answer = answer.get("error") or answer.get("values") or answer.get("out")
    return " ".join(str(answer).split())[:120]
