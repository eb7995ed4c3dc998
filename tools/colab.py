"""Prepare notebooks for a machine without the book: add a first cell that installs it.

    python tools/colab.py FROM TO REPOSITORY

FROM holds the notebooks of a built book (`_build/html/_sources`), their copies are written to TO, and REPOSITORY is the
address of the repository. Colab opens only notebooks in a repository, so the workflow pushes the copies to a branch.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    for path in sorted(source.rglob("*.ipynb")):
        notebook = with_installation(json.loads(path.read_text(encoding="utf-8")), sys.argv[3])
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(json.dumps(notebook, ensure_ascii=False, indent=1), encoding="utf-8")


def with_installation(notebook: dict[str, Any], repository: str) -> dict[str, Any]:
    """Return the notebook with a new first cell, which clones the repository and installs the package."""
    name = repository.rstrip("/").removesuffix(".git").rpartition("/")[2]
    packages = " ".join(
        f'"/content/{name}/{part}"' for part in ("minitensor[special]", "memory_stage[notebook]", "book_kit")
    )
    lines = [
        f"!git clone --quiet --depth 1 {repository} /content/{name}\n",
        f"%pip install --quiet {packages}\n",
        f"%cd /content/{name}/chapters",
    ]
    cell = {
        "cell_type": "code",
        "execution_count": None,
        "id": "install",
        "metadata": {},
        "outputs": [],
        "source": lines,
    }
    return {**notebook, "cells": [cell, *notebook["cells"]]}


if __name__ == "__main__":
    main()
