"""Test the page "How to read the stage": its marks, options, limits and examples are those of the stage."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from book_kit.magics.stage_magic import _options
from memory_stage.__main__ import _options as _command
from memory_stage.api import Stage
from memory_stage.recorder.record import LIMIT
from memory_stage.web.picture import script_source
from tests.support.chapters.chapter import FOLDER, Chapter

PAGE = Chapter.read("how_to_read_the_stage")
TRACE = re.compile(r'<memory-stage[^>]*>\s*<script type="application/json">(.*?)</script>', re.DOTALL)


def section(title: str) -> str:
    """Return the Markdown under a heading, including comments of its code, which begin like headings."""
    return PAGE.prose.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


@pytest.fixture(scope="module")
def shell() -> Iterator[InteractiveShell]:
    InteractiveShell.clear_instance()
    yield InteractiveShell.instance()
    InteractiveShell.clear_instance()


@pytest.fixture(scope="module")
def traces(shell) -> list[dict]:
    """Return the traces of the page's stages."""
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(FOLDER)
        return [trace for cell in PAGE.code for trace in run(shell, cell.source)]


def run(shell: InteractiveShell, source: str) -> list[dict]:
    """Run a cell; return the traces of the stages that it shows."""
    with capture_output() as shown:
        result = shell.run_cell(source)
        result.raise_error()
    html = "".join(output.data.get("text/html", "") for output in shown.outputs)
    displayed = [json.loads(found) for found in TRACE.findall(html)]
    return [*displayed, result.result.data] if isinstance(result.result, Stage) else displayed


def test_every_mark_of_the_legend_occurs_on_the_page(traces):
    py_mini_racer = pytest.importorskip("py_mini_racer")
    with py_mini_racer.MiniRacer() as v8:
        v8.eval(script_source())
        marks = set(json.loads(v8.eval("JSON.stringify(memoryStage.legendRows('x').map(([mark]) => mark))"))) - {""}
        found: set[str] = set()
        for trace in traces:
            found |= set(json.loads(v8.eval(f"JSON.stringify([...memoryStage.marksOf({json.dumps(trace)})])")))
    assert len(marks) > 15
    assert marks - found == set()


def test_the_page_lists_the_options_of_the_magic():
    options = {option for action in _options._actions for option in action.option_strings}
    assert set(re.findall(r"(?<![\w-])--[a-z]+", section("Your own programs") + section("Limits"))) == options


def test_the_page_lists_the_options_of_the_command():
    options = {option for action in _command()._actions for option in action.option_strings} - {"-h", "--help"}
    assert set(re.findall(r"(?<![\w-])--[a-z]+", section("A program in a file"))) == options


def test_the_page_has_the_recorders_limit():
    assert re.findall(r"after (\d+) steps", section("Limits")) == [str(LIMIT)]


def test_the_examples_run(shell, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"^```python\n(.*?)^```", section("Your own programs"), re.MULTILINE | re.DOTALL)
    shell.run_cell("def step(model, batch):\n    return (model * batch).sum()").raise_error()
    shown = []
    for number, example in enumerate(examples):
        shown.append(len(run(shell, example)))
        if number == 0:
            shell.run_cell("model = batch = mt.ones([2])").raise_error()
    assert shown == [0, 1, 1, 1, 0]  # the last one saves its stage and shows nothing
    assert "<memory-stage" in (tmp_path / "step.html").read_text(encoding="utf-8")
