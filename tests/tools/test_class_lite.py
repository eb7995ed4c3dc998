"""Test the JupyterLite site of a class: its notebooks, its wheels, and the site if the command is installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from tools.build import ROOT
from tools.class_lite import INSTALL, PACKAGES, write_contents


@pytest.fixture
def exercises(tmp_path):
    folder = tmp_path / "exercises"
    (folder / "facts").mkdir(parents=True)
    (folder / "facts" / "a.json").write_text("{}")
    nbformat.write(new_notebook(cells=[new_code_cell("import minitensor", id="0")]), folder / "01_a.ipynb")
    return folder


def run(*arguments, **environment):
    command = [sys.executable, str(ROOT / "tools" / "class_lite.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=600)


def test_each_notebook_begins_with_a_cell_that_installs_the_packages(exercises, tmp_path):
    write_contents(exercises, tmp_path / "contents")
    cells = nbformat.read(tmp_path / "contents" / "01_a.ipynb", as_version=4).cells
    assert [cell.source for cell in cells] == [INSTALL, "import minitensor"]
    assert (tmp_path / "contents" / "facts" / "a.json").exists()
    assert len(nbformat.read(exercises / "01_a.ipynb", as_version=4).cells) == 1


def test_a_missing_command_and_missing_notebooks_are_errors_that_write_nothing(exercises, tmp_path):
    site = tmp_path / "lite"
    done = run(exercises, "--to", site, PATH=str(tmp_path))
    assert done.returncode == 2 and "pip install jupyterlite-core jupyterlite-pyodide-kernel" in done.stderr
    done = run(tmp_path / "none", "--to", site)
    assert done.returncode == 2 and "run make class first" in done.stderr
    assert not site.exists()


@pytest.mark.skipif(shutil.which("jupyter-lite") is None, reason="jupyter-lite is not installed")
def test_the_site_has_the_notebooks_and_the_wheels(exercises, tmp_path):
    done = run(exercises, "--to", tmp_path / "lite")
    assert done.returncode == 0, done.stderr
    site = tmp_path / "lite" / "site"
    indexed = json.loads((site / "pypi" / "all.json").read_text(encoding="utf-8"))
    assert {name.replace("-", "_") for name in indexed} == set(PACKAGES)
    assert (site / "files" / "01_a.ipynb").exists() and (site / "lab" / "index.html").exists()
