"""The pages about the functions of memory-stage are generated from its docstrings without a warning."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from memory_stage import __all__ as public
from tools.build import ROOT


def test_each_public_function_has_its_page(tmp_path: Path):
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    done = subprocess.run(
        [*command, str(ROOT / "docs" / "api"), str(tmp_path)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert {name for name in public if f'id="memory_stage.{name}"' not in page} == set()
