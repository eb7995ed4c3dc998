"""Build a JupyterLite site with the exercises of a class: Jupyter in the browser, which any web server can host.

    python tools/class_lite.py [exercises] [--to _build/lite]

`exercises` is the folder that `make class` writes. This needs the command `jupyter-lite`, from the packages
jupyterlite-core and jupyterlite-pyodide-kernel. The site is written to the folder `site` in `--to`. The first cell of
each notebook installs the packages of the book from wheels in the site. When a student opens the site, the browser
downloads Python and NumPy from the network.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("minitensor", "memory_stage", "book_kit")
INSTALL = f"%pip install -q {' '.join(PACKAGES)}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Build a JupyterLite site with the exercises of a class.")
    parser.add_argument("exercises", nargs="?", type=Path, default=ROOT / "_build" / "class" / "exercises")
    parser.add_argument("--to", type=Path, default=ROOT / "_build" / "lite")
    options = parser.parse_args()
    if not any(options.exercises.glob("*.ipynb")):
        parser.error(f"{options.exercises} has no notebooks: run make class first")
    command = shutil.which("jupyter-lite")
    if command is None:
        parser.error("the command jupyter-lite is missing: pip install jupyterlite-core jupyterlite-pyodide-kernel")
    build_wheels(options.to / "pypi")
    write_contents(options.exercises, options.to / "contents")
    subprocess.run([command, "build", "--contents", "contents", "--output-dir", "site"], cwd=options.to, check=True)


def build_wheels(folder: Path) -> None:
    """Write a wheel of each package of the book. JupyterLite indexes the wheels in `pypi` beside its site."""
    sources = folder.parent / "sources"
    for package in PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__", "build", "*.egg-info")
        shutil.copytree(ROOT / package, sources / package, ignore=ignored, dirs_exist_ok=True)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", str(folder), *(str(sources / name) for name in PACKAGES)], check=True)


def write_contents(exercises: Path, folder: Path) -> None:
    """Copy the exercises, and begin each notebook with a cell that installs the packages."""
    shutil.copytree(exercises, folder, dirs_exist_ok=True)
    for path in folder.glob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        notebook.cells.insert(0, new_code_cell(INSTALL, id="install"))
        nbformat.write(notebook, path)


if __name__ == "__main__":
    main()
