"""Run the recorded questions again in the installed version of a library, and report the changes.

    python -m facts check torch                         all records of torch; or of paddle, numpy
    python -m facts check torch views.json leaves.json  only these records

The output lists each question whose answer has changed, with both answers, and the pages of the book that use the
record. The exit status is 1 if an answer has changed, and 2 if a record could not run, if no record has answers of the
library, or if the library is not installed. With `--json` the output is one line of JSON, for programs.

An answer is compared with that of the nearest recorded version: the installed version if it was recorded, or else the
newest version before it, or else the oldest. Each record runs in a separate process.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import math
import re
import sys
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import recording

HERE = Path(__file__).parent
CHAPTERS = HERE.parent / "chapters"
#: The allowed relative difference of numbers, because versions of a library add in different orders.
ALIKE = 1e-6

Answers = dict[str, Any]


@dataclass
class Change:
    """A question whose answer has changed. `then` is None for a new question, and `now` is None for a removed one."""

    question: str
    then: Any
    now: Any


@dataclass
class Checked:
    """The result of checking one record.

    Attributes:
        recorded, installed: the two versions of the library that were compared.
        asked: the number of recorded answers.
        pages: the titles of the pages that use the record.
    """

    file: str
    library: str
    recorded: str
    installed: str
    asked: int
    changes: list[Change]
    pages: list[str]


# ---------- recorded answers ----------


def records() -> dict[str, str]:
    """Return the records that can run again, each with its script."""
    found = {}
    for script in sorted(HERE.glob("*.py")):
        file = script.with_name(script.stem.replace("_", "-") + ".json")
        text = script.read_text(encoding="utf-8")
        if file.exists() and re.search(r"^(?:QUESTIONS|CASES)\b|^def record\(library", text, re.MULTILINE):
            found[file.name] = script.stem
    return found


def versions(file: str, library: str) -> dict[str, Answers]:
    """Map each recorded version of a library to its answers."""
    record = json.loads((HERE / file).read_text(encoding="utf-8"))
    each = [record] if "library" in record else record.values()
    return {one["version"]: _answers(one) for one in each if one.get("library") == library}


def _answers(record: dict[str, Any]) -> Answers:
    if "messages" in record:
        return {one["program"]: one["message"] for one in record["messages"]}
    if "programs" in record:
        return {
            **record["programs"],
            **{f"text {i}": text for i, text in enumerate(record["texts"])},
            **{f"draws after seed {seed}": drawn for seed, drawn in record["draws"].items()},
        }
    return dict(record["answers"])


def nearest(installed: str, recorded: list[str]) -> str:
    """Return the recorded version with which the installed version is compared."""
    in_order = sorted(recorded, key=_number)
    before = [version for version in in_order if _number(version) <= _number(installed)]
    return before[-1] if before else in_order[0]


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


# ---------- answers of the installed version ----------


def ask_installed(script: str, library: str) -> Answers:
    """Return the answers of the installed version to the questions of a script."""
    module = importlib.import_module(script)
    if hasattr(module, "QUESTIONS"):
        return recording.record(library, module.QUESTIONS, getattr(module, "ask", recording.ask))["answers"]
    if hasattr(module, "CASES"):
        there = importlib.import_module(library)
        return {name: module.answer(there, number) for number, (name, *_) in enumerate(module.CASES)}
    return _answers(module.record(library))


def check(file: str, library: str) -> Checked | None:
    """Run the questions of a record again; return None if the record has no answers of the library.

    Raises:
        RuntimeError: if the process that runs the questions fails or is killed.
    """
    known = versions(file, library)
    if not known:
        return None

    def ask() -> dict[str, Any]:
        warnings.simplefilter("ignore")  # a script that records warnings replaces this filter
        there = importlib.import_module(library)
        return {"answers": ask_installed(records()[file], library), "version": there.__version__.partition("+")[0]}

    found = recording.apart(ask)
    if "error" in found:
        raise RuntimeError(f"{file} could not run again: {found['error']}")
    then = nearest(found["version"], list(known))
    changes = compared(known[then], found["answers"])
    return Checked(file, library, then, found["version"], len(known[then]), changes, pages(file))


def compared(then: Answers, now: Answers) -> list[Change]:
    """Return the questions whose answers differ."""
    return [
        Change(question, then.get(question), now.get(question))
        for question in [*then, *(question for question in now if question not in then)]
        if question not in now or question not in then or not alike(then[question], now[question])
    ]


def alike(a: Any, b: Any) -> bool:
    """True if two answers are equal, with a tolerance for floats."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(alike(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(alike, a, b))
    if type(a) is float and type(b) is float:
        return a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=ALIKE, abs_tol=ALIKE)
    return bool(a == b)


def pages(file: str) -> list[str]:
    """Return the titles of the pages that use the record."""
    found = []
    for page in sorted(CHAPTERS.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if f"facts/{file}" in text:
            title = re.search(r"^# (.+)$", text, re.MULTILINE)
            found.append(title[1] if title else page.stem)
    return found


# ---------- as text ----------


def as_text(checked: Checked) -> str:
    """Return the result of one record as lines of text."""
    head = f"{checked.file}: {checked.asked} answers of {checked.library} {checked.recorded}, asked again of "
    head += checked.installed
    if not checked.changes:
        return f"{head}: all as recorded"
    lines = [f"{head}: {len(checked.changes)} changed"]
    for change in checked.changes:
        lines += [f"  {change.question}", f"    was: {_brief(change.then)}", f"    now: {_brief(change.now)}"]
    return "\n".join([*lines, f"  stated in: {'; '.join(checked.pages) or 'no page'}"])


def _brief(answer: Any) -> str:
    if answer is None:
        return "(not asked)"
    if isinstance(answer, dict):
        answer = {key: value for key, value in answer.items() if key not in ("program", "sha256")}
    text = " ".join((answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)).split())
    return text if len(text) <= 200 else text[:200] + " …"


def main(arguments: list[str] | None = None) -> int:
    """Run the command, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m facts", description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["check"])
    parser.add_argument("library", help="the package to check: torch, paddle or numpy")
    parser.add_argument("files", nargs="*", help="records, such as views.json (default: all)")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    given = parser.parse_args(arguments)
    known = records()
    unknown = [file for file in given.files if file not in known]
    if unknown:
        print(f"there is no record {', '.join(unknown)}; the records are: {', '.join(known)}", file=sys.stderr)
        return 2
    if importlib.util.find_spec(given.library) is None:
        print(f"{given.library} is not installed here", file=sys.stderr)
        return 2
    found, failed = [], []
    for file in given.files or known:
        try:
            checked = check(file, given.library)
        except RuntimeError as error:
            failed.append(str(error))
            print(error, file=sys.stderr)
            continue
        if checked is not None:
            found.append(checked)
            if not given.json:
                print(as_text(checked), flush=True)
    if given.json:
        print(json.dumps([asdict(checked) for checked in found]))
    elif not found and not failed:
        print(f"no record has answers of {given.library}", file=sys.stderr)
    if failed or not found:
        return 2
    return 1 if any(checked.changes for checked in found) else 0
