"""Compare the recorded answers of a page with those of the frameworks that a reader has installed.

    installed.show("../facts/views.json")

``python -m facts check`` runs in a separate process for each framework, so the notebook's process never imports the
framework. If a framework is not installed, the output only names the version whose answers the page shows.
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
from memory_stage.messages import Text, joined, message, said
from memory_stage.web.embed import page_assets


@dataclass
class InstalledCheck:
    """The result of the comparison, shown as lines of text.

    Attributes:
        lines: a sentence for each library, and a line for each answer that has changed.
        changed: the number of answers that have changed.
    """

    lines: list[str]
    changed: int

    def __repr__(self) -> str:
        return "\n".join(self.lines)

    def _repr_html_(self) -> str:
        """Return the lines as HTML paragraphs. Long lines wrap."""
        lines = "".join(f"<p>{html.escape(line)}</p>" for line in self.lines)
        note = f'<div class="mt-note mathjax_ignore" style="font-size:14px">{lines}</div>'
        return page_assets("quiz.css", package="book_kit.web") + note


def show(file: str | Path, python: str = sys.executable) -> InstalledCheck:
    """Ask the installed frameworks the questions of ``file`` again, and compare the answers.

    Args:
        file: a record in the book's folder of facts.
        python: the interpreter of the environment with the frameworks.

    Raises:
        FileNotFoundError: if there is no such record.
    """
    file = Path(file).resolve()
    records = json.loads(file.read_text(encoding="utf-8"))
    versions: dict[str, list[str]] = {}
    for record in [records] if "library" in records else records.values():
        versions.setdefault(record["library"], []).append(record["version"])
    found = InstalledCheck([], 0)
    for library, recorded in versions.items():
        if library == "minitensor":
            continue
        shown = message("{library} {version}", library=NAMES[library], version=joined(recorded))
        if python == sys.executable and importlib.util.find_spec(library) is None:
            absent = message(
                "{library} is not installed here. The page shows what {recorded} answered.",
                library=NAMES[library],
                recorded=shown,
            )
            found.lines.append(said(absent))
        else:
            _ask(python, library, file, shown, found)
    return found


def _ask(python: str, library: str, file: Path, shown: Text, found: InstalledCheck) -> None:
    command = [python, "-m", "facts", "check", library, file.name, "--json"]
    ran = subprocess.run(command, cwd=file.parents[1], capture_output=True, text=True)
    if ran.returncode not in (0, 1) or not ran.stdout.strip():
        reason = (ran.stderr.strip() or f"status {ran.returncode}").splitlines()[-1]
        failed = message(
            "{library} could not be asked ({reason}). The page shows what {recorded} answered.",
            library=NAMES[library],
            reason=reason,
            recorded=shown,
        )
        found.lines.append(said(failed))
        return
    (checked,) = json.loads(ran.stdout.splitlines()[-1])
    count = len(checked["changes"])
    versions: dict[str, Text | int] = {
        "library": NAMES[library],
        "installed": checked["installed"],
        "recorded": checked["recorded"],
        "asked": checked["asked"],
    }
    if not count:
        equal = message(
            "{library} {installed}, installed here, was asked just now: {asked} answers, all as recorded from "
            "{library} {recorded}.",
            **versions,
        )
        found.lines.append(said(equal))
        return
    found.changed += count
    differing = message(
        "{library} {installed}, installed here, was asked just now: {count} of {asked} answers are not those of "
        "{library} {recorded}.",
        count=count,
        **versions,
    )
    found.lines.append(said(differing))
    found.lines += [
        f"  {change['question']}: {_brief(change['then'])} -> {_brief(change['now'])}" for change in checked["changes"]
    ]


def _brief(answer: Any) -> str:
    if isinstance(answer, dict):
        answer = answer.get("error") or answer.get("values") or answer.get("out")
    return " ".join(str(answer).split())[:120]
