"""JupyterLab, as `make notebooks` starts it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tools.build import ROOT

ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/lab\S*\?token=\w+")


@pytest.fixture
def lab(tmp_path) -> Iterator[str]:
    """The address of a JupyterLab on a copy of a chapter, apart from the user's own Jupyter settings."""
    (tmp_path / "chapters").mkdir()
    source = min((ROOT / "chapters").glob("*.md"))
    (tmp_path / "chapters" / "chapter.md").write_bytes(source.read_bytes())
    own = {f"JUPYTER_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    environment = {**os.environ, **own, "JUPYTER_CONFIG_PATH": str(ROOT / "tools" / "jupyter")}
    command = [sys.executable, "-m", "jupyterlab", str(tmp_path / "chapters"), "--no-browser", "--allow-root"]
    with subprocess.Popen(
        [*command, "--ServerApp.port=0", "--ServerApp.ip=127.0.0.1"],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        for line in server.stderr:
            if found := ADDRESS.search(line):
                break
        yield found.group()
        server.terminate()


def test_a_double_click_opens_a_chapter_as_a_notebook(lab, browser):
    page = browser.new_page()
    page.goto(lab)
    page.get_by_text("chapter.md", exact=True).dblclick(timeout=60_000)
    page.locator(".jp-Notebook .jp-CodeCell").first.wait_for(timeout=60_000)
    page.close()
