"""Test the tour "How to read the stage" and the options of "Your own program": marks, options, limits and examples."""

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

TOUR = Chapter.read("how_to_read_the_stage")
OWN = Chapter.read("your_own_program")
TRACE = re.compile(r'<memory-stage[^>]*>\s*<script type="application/json">(.*?)</script>', re.DOTALL)

# The marks of the legend beside a picture, and the words with which the page explains them.
EXPLAINED = {
    "line": "**(line 4)**",
    "gone": "**A struck-through name**",
    "outside": "**numpy**",
    "borrowed": "**borrowed**",
    "shared": "Striped cells are read by both",
    "many": "**A number in place of cells**",
    "band": "**A band**",
    "map": "**A map of small squares**",
    "pictures": "A batch of images is drawn as images",
    "written": "A heavy frame marks the cells",
    "loose": "is **dashed**",
    "runs": "**1,000 runs**",
    "unversioned": "**stays 0**",
    "freed": "A dashed box is freed memory",
    "gradient": "* **gradient**: *yes* if the tensor requires a gradient (`stop_gradient=False`).\n* **leaf**: *yes*",
    "saved": "**A rounded box beside a tensor**",
    "inferred": "**A question mark**",
    "copy": "**Gray cells**",
    "stale": "`0 ≠ 1` in red",
    "state": "a pill such as `x@0`",
    "past": "**A struck-through pill**",
    "node": "boxes are operations",
    "chain": "**40 × add**",
    "group": "**A dotted frame**",
    "passed": "**A heavy arrow**",
    "grad": "its numbers are above the state",
    "failed": "**A red operation**",
    "folded": "**5 more**",
    "boxes": "**Small boxes** in groups",
}


def folded(title: str) -> str:
    """Return the Markdown of the dropdown with this title in *Your own program*."""
    return OWN.prose.partition(f"\n:::{{dropdown}} {title}\n")[2].partition("\n:::")[0]


@pytest.fixture(scope="module")
def shell() -> Iterator[InteractiveShell]:
    InteractiveShell.clear_instance()
    yield InteractiveShell.instance()
    InteractiveShell.clear_instance()


@pytest.fixture(scope="module")
def traces(shell) -> list[dict]:
    """Return the traces of the tour's stages."""
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(FOLDER)
        return [trace for cell in TOUR.code for trace in run(shell, cell.source)]


def run(shell: InteractiveShell, source: str) -> list[dict]:
    """Run a cell; return the traces of the stages that it shows."""
    with capture_output() as shown:
        result = shell.run_cell(source)
        result.raise_error()
    html = "".join(output.data.get("text/html", "") for output in shown.outputs)
    displayed = [json.loads(found) for found in TRACE.findall(html)]
    return [*displayed, result.result.data] if isinstance(result.result, Stage) else displayed


def marks(v8, expression: str) -> set[str]:
    return set(json.loads(v8.eval(f"JSON.stringify([...{expression}])")))


def test_every_mark_of_the_legend_is_explained_and_the_tour_shows_the_main_marks(traces):
    py_mini_racer = pytest.importorskip("py_mini_racer")
    with py_mini_racer.MiniRacer() as v8:
        v8.eval(script_source())
        legend = marks(v8, "memoryStage.legendRows('x').map(([mark]) => mark)") - {""}
        seen = set().union(*(marks(v8, f"memoryStage.marksOf({json.dumps(trace)})") for trace in traces))
    assert legend == set(EXPLAINED)
    assert {"written", "freed", "shared", "gradient", "saved", "stale", "state", "node", "failed"} <= seen


@pytest.mark.parametrize("mark", EXPLAINED)
def test_the_tour_explains_a_mark_with_the_listed_words(mark):
    assert EXPLAINED[mark] in TOUR.prose


def test_the_options_of_the_magic_are_listed():
    options = {option for action in _options._actions for option in action.option_strings}
    said = folded("Stages in a notebook") + folded("Limits")
    assert set(re.findall(r"(?<![\w-])--[a-z]+(?:-[a-z]+)*", said)) == options


def test_the_options_of_the_command_are_listed():
    options = {option for action in _command()._actions for option in action.option_strings} - {"-h", "--help"}
    assert set(re.findall(r"(?<![\w-])--[a-z]+(?:-[a-z]+)*", folded("The command"))) == options


def test_the_recorders_limit_is_named():
    assert re.findall(r"after (\d+) steps", folded("Limits")) == [str(LIMIT)]


def test_the_examples_run(shell, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"^```python\n(.*?)^```", folded("Stages in a notebook"), re.MULTILINE | re.DOTALL)
    shell.run_cell("def step(model, batch):\n    return (model * batch).sum()").raise_error()
    shown = []
    for number, example in enumerate(examples):
        shown.append(len(run(shell, example)))
        if number == 0:
            shell.run_cell("model = batch = mt.ones([2])").raise_error()
    assert shown == [0, 1, 1, 1, 0]  # the last one saves its stage and shows nothing
    assert "<memory-stage" in (tmp_path / "step.html").read_text(encoding="utf-8")
