"""Run programs under the explanation of whole runs, in this process."""

from __future__ import annotations

import contextlib
import io
import json
import warnings
from pathlib import Path

from memory_stage.explanation.whole_run.explanation import Explanation, watching
from memory_stage.recorder.script import as_main, read_script

ROOT = Path(__file__).resolve().parents[3]
REPORTS = ROOT / "facts" / "programs" / "reports"


def explained(path: Path) -> tuple[Explanation, str, Exception | None]:
    """Run a program in this process; return its explanation, its output and its error."""
    program, source = read_script(str(path))
    explanation, output = watching(), io.StringIO()
    error = None
    with as_main(program, [str(path)]) as names, contextlib.redirect_stdout(output), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explanation.variables = names
        try:
            with explanation:
                exec(compile(source, str(program), "exec", dont_inherit=True), names)
        except Exception as raised:
            error = raised.with_traceback(None)
    return explanation, output.getvalue(), error


def written(folder: Path, source: str) -> Path:
    """Write a program into a folder, under a name that no other program has."""
    path = folder / f"program{len(list(folder.iterdir()))}.py"
    path.write_text(source)
    return path


def culprits(library: str) -> dict[str, tuple[str, int]]:
    """Map the number of each report to the kind of its fault and the line that is to blame."""
    found = json.loads((REPORTS / "culprits.json").read_text(encoding="utf-8"))
    return {number: (each["kind"], each["line"]) for number, each in found.items() if each["library"] == library}


def report(number: str) -> Path:
    """Return the program of a public report."""
    (path,) = REPORTS.glob(f"{number}_*.py")
    return path
