"""Record in names.json the results of the programs of appendix C in Paddle, PyTorch, NumPy and JAX.

python facts/names.py paddle        in an environment that has paddle
python facts/names.py torch
python facts/names.py numpy
python facts/names.py jax

The programs are the cells of `minitensor/paddle/names.py`, which is read as a file, so minitensor need not be
installed.
"""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import recording
from recording import Questions, write

TABLE = runpy.run_path(str(Path(__file__).parents[1] / "minitensor" / "paddle" / "names.py"))

STARTS = TABLE["STARTS"]
QUESTIONS: Questions = {
    "the start": ({library: STARTS[library] for library in STARTS if library != "minitensor"}, []),
    **{
        f"{row.section}: {row.what}": (
            {library: row.program(library) for library in row.cells if library != "minitensor"},
            row.expressions,
        )
        for row in TABLE["ROWS"]
    },
}


def ask(library: str, program: str, expressions: list[str]) -> dict[str, Any]:
    """Return the answer, after removing from its program the first lines, which all programs of the library share.

    The program of the question "the start" consists of these lines only, so it is returned whole.
    """
    answer = recording.ask(library, program, expressions)
    answer["program"] = program.removeprefix(STARTS[library]) or program
    return answer


if __name__ == "__main__":
    write(Path(__file__).with_name("names.json"), QUESTIONS, ask)
