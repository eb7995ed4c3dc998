"""Prepare notebooks for a machine without the book: add a first cell that installs it.

    python tools/colab.py SITE TO REPOSITORY

SITE is a built book (`_build/html`). Copies of its notebooks are written to TO, and those of an edition in another
language to a folder with the edition's name, for example TO/zh. REPOSITORY is the address of the repository. Colab
opens only notebooks in a repository, so the workflow that publishes the book pushes the copies to a branch.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    site, target = Path(sys.argv[1]), Path(sys.argv[2])
    for sources in sorted([*site.glob("_sources"), *site.glob("*/_sources")]):
        edition = sources.parent.relative_to(site)
        for path in sorted(sources.rglob("*.ipynb")):
            notebook = json.loads(path.read_text(encoding="utf-8"))
            copy = target / edition / path.relative_to(sources)
            copy.parent.mkdir(parents=True, exist_ok=True)
            ready = with_installation(notebook, sys.argv[3], (edition / "chapters").as_posix())
            copy.write_text(json.dumps(ready, ensure_ascii=False, indent=1), encoding="utf-8")


def with_installation(notebook: dict[str, Any], repository: str, folder: str = "chapters") -> dict[str, Any]:
    """Return the notebook with a new first cell, which clones the repository and installs its packages.

    The cell also changes to ``folder`` in the repository, so that the rest of the notebook runs there.
    """
    name = repository.rstrip("/").removesuffix(".git").rpartition("/")[2]
    packages = " ".join(
        f'"/content/{name}/{part}"' for part in ("minitensor[special]", "memory_stage[notebook]", "book_kit")
    )
    lines = [
        f"!git clone --quiet --depth 1 {repository} /content/{name}\n",
        f"%pip install --quiet {packages}\n",
        f"%cd /content/{name}/{folder}",
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
