"""Test the environment variables that the build of the book sets for its kernels."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tools import build


@pytest.mark.parametrize("asked", ["1", None])
def test_kernels_compile_into_the_build_folder_if_they_must_not_write_beside_the_sources(asked, tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)
    if asked:
        monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", asked)
    else:
        monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / "imported_once.py").write_text("value = 1\n")
    (tmp_path / "build").mkdir()
    environment = {**build._environment(tmp_path / "build"), "PYTHONPATH": str(tmp_path / "sources")}
    subprocess.run([sys.executable, "-c", "import imported_once"], env=environment, check=True)
    (compiled,) = tmp_path.rglob("imported_once.*.pyc")
    assert compiled.is_relative_to(tmp_path / ("build" if asked else "sources"))
