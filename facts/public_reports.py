"""Record in public-reports.json how `memory-stage explain` and PyTorch's anomaly mode explain public bug reports.

python facts/public_reports.py torch      in an environment that has torch, numpy and memory_stage
python facts/public_reports.py paddle

An answer says whether the explanation contains the faulty line (`is named`), and whether the fixes work (`fixes`).
`fixes` is "edit" if every edit works: after the edit the program has no fault, and prints the same as a manually
corrected program. It is "words" if all fixes are in words, which no test can apply, and "" otherwise. If a program can
be corrected in two ways, each way has a file in `right/`.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

from recording import Questions, without_places, write

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from memory_stage.explanation.whole_run.explanation import Explanation, watching
from memory_stage.recorder.script import as_main, read_script

FOLDER = Path(__file__).parent / "programs" / "reports"
CULPRITS: dict[str, dict[str, Any]] = json.loads((FOLDER / "culprits.json").read_text(encoding="utf-8"))
ANOMALY = (
    "import runpy, sys, torch; torch.autograd.set_detect_anomaly(True); "
    "runpy.run_path(sys.argv[1], run_name='__main__')"
)


def _path(number: str) -> Path:
    (path,) = FOLDER.glob(f"{number}_*.py")
    return path


QUESTIONS: Questions = {
    _path(number).stem: ({each["library"]: _path(number).read_text(encoding="utf-8")}, [])
    for number, each in CULPRITS.items()
}


def explained(path: Path) -> tuple[Explanation, str, str]:
    """Run a program; return its explanation, its output and the first line of its error ("" if none)."""
    program, source = read_script(str(path))
    explanation, output, error = watching(), io.StringIO(), ""
    with as_main(program, [str(path)]) as names, contextlib.redirect_stdout(output), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explanation.variables = names
        try:
            with explanation:
                exec(compile(source, str(program), "exec", dont_inherit=True), names)
        except Exception as raised:
            error = f"{type(raised).__name__}: {without_places(str(raised)).strip().splitlines()[0]}"
    return explanation, output.getvalue(), error


def anomaly_line(path: Path) -> int:
    """Return the line of the program that PyTorch's anomaly mode names; 0 if it names none."""
    run = subprocess.run([sys.executable, "-c", ANOMALY, str(path)], capture_output=True, text=True)
    found = re.search(r"Traceback of forward call.*?\(Triggered internally", run.stderr, re.DOTALL)
    lines = re.findall(rf'File "{re.escape(str(path))}", line (\d+)', found[0]) if found else []
    return int(lines[-1]) if lines else 0


def ask(library: str, program: str, expressions: list[str]) -> dict[str, Any]:
    """Explain a program, apply each edit, and compare the outputs with those of the manually corrected programs."""
    (name,) = (name for name, (programs, _) in QUESTIONS.items() if programs.get(library) == program)
    path, expected = FOLDER / f"{name}.py", CULPRITS[name.partition("_")[0]]
    explanation, _, error = explained(path)
    right = {explained(each)[1] for each in (FOLDER / "right").glob(f"{path.stem}*.py")}
    lines = [each.line.number for fault in explanation.faults for each in fault.evidence]
    fixes = [fix for fault in explanation.faults for fix in fault.fixes]
    edits = [fix for fix in fixes if fix.edits]
    hold = all(_holds(fix.apply(program), right) for fix in edits)
    return {
        "error": error,
        "line": expected["line"],
        "kinds": [fault.kind for fault in explanation.faults],
        "verdict": without_places(explanation.faults[0].verdict) if explanation.faults else "",
        "is named": expected["line"] in lines,
        "fixes": "edit" if edits and hold else "words" if fixes and not edits else "",
        "anomaly mode": anomaly_line(path) if library == "torch" else None,
    }


def _holds(source: str, right: set[str]) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mended.py"
        path.write_text(source, encoding="utf-8")
        explanation, output, error = explained(path)
    return not error and output in right and not explanation.faults


if __name__ == "__main__":
    write(Path(__file__).with_name("public-reports.json"), QUESTIONS, ask)
