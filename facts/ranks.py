"""Record in ranks.json the output of a chapter's ranks, for readers without MPI.

python facts/ranks.py      in an environment that has ipyparallel, mpi4py and an MPI

The cells of the chapter run unchanged. The book finds a record by the text of its cell, so run this script again after
a cell has changed.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import jupytext
from IPython.core.interactiveshell import InteractiveShell

FACTS = Path(__file__).resolve().parent
CHAPTER = FACTS.parent / "chapters" / "14_many_ranks.md"


def main() -> None:
    from book_kit import ranks

    if missing := ranks.why_not():
        sys.exit(f"{missing}: pip install ipyparallel mpi4py mpich")
    os.chdir(CHAPTER.parent)
    shell = InteractiveShell.instance()
    try:
        for cell in jupytext.read(CHAPTER).cells:
            if cell.cell_type == "code":
                shell.run_cell(cell.source).raise_error()
        ranks.save(FACTS / "ranks.json")
    finally:
        ranks.stop()


if __name__ == "__main__":
    main()
