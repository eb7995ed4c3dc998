"""Test JupyterLab, as `make notebooks` starts it."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import jupytext
import pytest
from playwright.sync_api import expect

from tests.support.chapters.chapter import HEADER
from tests.support.site.notebook_programs import STARTING, running
from tools.build import ROOT

sys.path.insert(0, str(ROOT / "tools" / "jupyter"))
from chapter_files import ChapterFiles, with_marks, with_words


@pytest.fixture
def lab(tmp_path) -> Iterator[tuple[str, str]]:
    """Return the address and the token of a JupyterLab on a copy of a chapter, without the user's Jupyter settings."""
    (tmp_path / "chapters").mkdir()
    source = min((ROOT / "chapters").glob("*.md"))
    (tmp_path / "chapters" / "chapter.md").write_bytes(source.read_bytes())
    command = [sys.executable, "-m", "jupyterlab", str(tmp_path / "chapters")]
    with running(command, tmp_path, JUPYTER_CONFIG_PATH=str(ROOT / "tools" / "jupyter")) as found:
        yield found


def test_a_double_click_opens_a_chapter_as_a_notebook_with_words_for_the_marks_of_steps(lab, browser):
    address, token = lab
    page = browser.new_page()
    page.goto(f"{address}/lab?token={token}")
    page.get_by_text("chapter.md", exact=True).dblclick(timeout=STARTING * 1000)
    page.locator(".jp-Notebook .jp-CodeCell").first.wait_for(timeout=STARTING * 1000)
    texts_shown = page.locator(".jp-Notebook .jp-RenderedMarkdown")
    expect(texts_shown.filter(has_text="How this page knows")).to_have_count(1)
    expect(texts_shown.filter(has_text=re.compile(r":::|\{\w+\}|:filter:"))).to_have_count(0)
    contents = f"{address}/api/contents/chapter.md?type=notebook&token={token}"
    cells = page.request.get(contents).json()["content"]["cells"]
    texts = [cell["source"] for cell in cells if cell["cell_type"] == "markdown"]
    assert any("**line 1**<!--{step}`1`-->" in text for text in texts)
    assert not any("{step}" in re.sub("<!--.*?-->", "", text) for text in texts)
    page.close()


def in_thread(task):
    """Run a coroutine in another thread, because an open browser uses the event loop of this thread."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asyncio.run, task).result()


def test_a_notebook_is_saved_with_the_marks_of_steps(tmp_path):
    text = "Before.\n\n{step}`3#2 in x += 1` It writes.\n\n* **bold** {step}`end` The end.\n\n```{code-cell}\n1\n```\n"
    (tmp_path / "chapter.md").write_text(HEADER + "\n" + text, encoding="utf-8")
    files = ChapterFiles(root_dir=str(tmp_path))
    opened = in_thread(files.get("chapter.md", type="notebook"))
    shown = "\n".join(cell["source"] for cell in opened["content"]["cells"])
    assert "**line 3, second step, x += 1**<!--{step}`3#2 in x += 1`--> It writes." in shown
    assert "* **bold** **last step**<!--{step}`end`--> The end." in shown
    in_thread(files.save({"type": "notebook", "format": "json", "content": opened["content"]}, "chapter.md"))
    saved = (tmp_path / "chapter.md").read_text(encoding="utf-8")
    assert saved.rpartition("---\n")[2] == "\n" + text


PAGES = sorted([*(ROOT / "chapters").glob("*.md"), *(ROOT / "zh" / "chapters").glob("*.md")])
MYST = re.compile(r"\{[a-z-]+\}`.*|^(?::{3,}|`{3,}\{).*", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_an_open_notebook_shows_no_myst_syntax_and_saving_restores_the_syntax(page):
    notebook = jupytext.reads(page.read_text(encoding="utf-8"), fmt="md:myst")
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            shown = with_words(cell.source)
            assert MYST.findall(re.sub(r"<!--.*?-->", "", shown, flags=re.DOTALL)) == []
            assert with_marks(shown) == cell.source


def test_a_notebook_shows_words_for_citations_dropdowns_and_includes():
    source = "As {cite}`4-guide` says.\n\n:::{dropdown} A `hint`\nText.\n:::\n\n"
    source += "```{literalinclude} ../a/b.py\n:start-at: x\n```"
    shown = with_words(source)
    visible = re.sub(r"<!--.*?-->", "", shown, flags=re.DOTALL)
    assert visible.split() == ["As", "[guide]", "says.", "**A", "`hint`**<br>", "Text.", "`a/b.py`"]
    assert with_marks(shown) == source
