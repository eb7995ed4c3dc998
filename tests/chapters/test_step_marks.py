"""Test the marks, such as {step}`4`, with which a paragraph names a step of its section's stage."""

from __future__ import annotations

import base64
import re
import sys

import nbformat
import pytest
from docutils import nodes
from docutils.utils import new_document
from nbformat.v4 import new_code_cell, new_markdown_cell

from memory_stage import api
from memory_stage.api import Stage
from memory_stage.web import picture
from tests.support.chapters.chapter import ROOT

sys.path.insert(0, str(ROOT / "_ext"))
from book_pages.step_marks import marks, moment_of, said, step_mark
from book_pages.stills import WIDTH, add_to_notebook, as_file

LOOP = """
import minitensor as mt
x = mt.to_tensor([1.0, 2.0], stop_gradient=False)
for i in range(3):
    y = x * x
y.sum().backward()
"""


@pytest.fixture(scope="module")
def loop():
    return api.record(LOOP.strip(), title="A loop").data


@pytest.fixture(scope="module")
def pair():
    start = "import minitensor as mt\nx = mt.zeros([2])\n"
    return api.compare({"normal": start + "y = x.add(1.0)", "in place": start + "y = x.add_(1.0)\nz = y"}).data


def line_of(trace, names):
    """Return the variant, the step and the line to which the mark ``names`` refers."""
    found = moment_of(names, trace)
    return found.variant, found.step, trace["variants"][found.variant]["steps"][found.step]["line"]


def test_a_mark_names_a_step_of_a_line(loop):
    first, second, third, start = (line_of(loop, names) for names in ("4", "4#2", "4#last", "5"))
    assert [line for *_, line in (first, second, third, start)] == [4, 4, 4, 5]
    steps = [step for _, step, _ in (first, second, third, start)]
    assert steps == list(range(steps[0], steps[0] + 4))
    assert line_of(loop, "5#last") == line_of(loop, "end") == (0, len(loop["variants"][0]["steps"]) - 1, 5)


def test_a_mark_names_a_program_of_a_comparison(pair):
    assert line_of(pair, "3 in normal") == (0, 1, 3)
    assert line_of(pair, "end in in place") == (1, 2, 4)
    pair["opens"] = pair["variants"][1]["id"]
    assert line_of(pair, "3") == (1, 1, 3)


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        ("0", "a mark is 3, 3#2, "),
        ("line 3", "a mark is 3, 3#2, "),
        ("end#2", "a mark is 3, 3#2, "),
        ("9", "line 9 of the stage 'A loop' has no step; lines 2, 4, 5 have one"),
        ("4#4", "line 4 of the stage 'A loop' has 3 steps; not 4"),
        ("4 in view", "the stage 'A loop' has the programs"),
    ],
)
def test_the_error_about_a_wrong_mark_names_the_allowed_forms(loop, names, reason):
    with pytest.raises(ValueError, match=reason):
        moment_of(names, loop)


def test_a_mark_is_shown_in_words():
    assert [said(names) for names in ("3", "3#2", "3#12", "3#last in in place", "end", "?")] == [
        "line 3", "line 3, second step", "line 3, step 12", "line 3, last step, in place", "last step", "?",
    ]  # fmt: skip


def test_a_downloaded_notebook_has_words_and_a_still_picture_for_each_mark(pair):
    text = """```
{step}`4` is code.
```

{step}`3 in in place` It *writes*
into `x`.

* {step}`2` It begins.
* Nothing else.

## Four

{step}`1` No stage is here."""
    output = nbformat.v4.new_output("display_data", {"text/html": Stage.of(pair)._repr_mimebundle_()["text/html"]})
    cells = [new_markdown_cell("## Three"), new_code_cell("stage", outputs=[output]), new_markdown_cell(text)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    add_to_notebook(notebook)
    nbformat.validate(notebook)
    shown = cells[2]
    assert shown.source.startswith("```\n{step}`4` is code.\n```\n\n**line 3, in place** It *writes*\ninto `x`.\n\n![")
    assert "\n\n* **line 2** It begins.\n\n  ![" in shown.source
    assert shown.source.endswith("**line 1** No stage is here.")
    named = re.findall(r"\]\(attachment:(\S+)\)", shown.source)
    assert sorted(named) == sorted(shown.attachments)
    for name, variant, step in zip(named, (1, number_of_the_opened_variant(pair)), (1, 0), strict=True):
        svg = base64.b64decode(shown.attachments[name]["image/svg+xml"]).decode()
        assert svg == as_file(picture.svg(pair, variant, step, WIDTH)) != picture.svg(pair, variant, step, WIDTH)


def number_of_the_opened_variant(trace):
    return [variant["id"] for variant in trace["variants"]].index(trace["opens"])


def test_a_mark_refers_to_the_last_stage_before_it_in_its_section_or_to_the_first_after_it():
    def stage(title):
        return nodes.raw("", f"<memory-stage>{title}</memory-stage>", format="html")

    def mark(names):
        return nodes.paragraph("", "", step_mark("", names, names=names))

    document = new_document("page")
    document += nodes.section("", mark("1"), stage("A"), mark("2"), stage("B"), mark("3"), ids=["one"])
    document += nodes.section("", mark("4"), ids=["two"])
    found = {each["names"]: own and own.astext()[len("<memory-stage>")] for each, own in marks(document)}
    assert found == {"1": "A", "2": "A", "3": "B", "4": None}
