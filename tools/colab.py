"""Notebooks that run where nothing of the book is installed: each begins with a cell that installs it.

    python tools/colab.py FROM TO REPOSITORY

FROM holds the notebooks of a built book (`_build/html/_sources`), TO gets their copies, REPOSITORY is the address of
the repository. Colab opens notebooks only, and only from a repository: the workflow puts these on a branch of it.
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
    """The notebook with one cell more, the first: the repository beside it, and the package installed."""
    name = repository.rstrip("/").removesuffix(".git").rpartition("/")[2]
    lines = [
        f"!git clone --quiet --depth 1 {repository} /content/{name}\n",
        f'%pip install --quiet "/content/{name}[notebook,special]"\n',
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
