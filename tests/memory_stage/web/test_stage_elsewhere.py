"""Test a stage's output in other front ends: inserted into a page later, alone in a frame, and under a strict content
policy.

The front ends themselves are not installed. A browser handles the HTML in the way that their source code does.
"""

from __future__ import annotations

import html
import json
import sys
import types

import pytest

import memory_stage as stage
from memory_stage.web import embed
from tests.support.waiting import soon

# The policy of a notebook's page under VS Code's strictest setting. Only inline scripts and styles work. Images, frames
# and requests may use other hosts, but a stage needs none.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src https: data:; "
    "connect-src https:; child-src https: data:"
)

# JupyterLab and VS Code insert HTML into an element and then run its scripts, each as a new element.
SHOW = """html => {
  const output = document.createElement('div');
  output.innerHTML = html;
  document.body.append(output);
  for (const script of [...output.querySelectorAll('script')]) {
    const again = document.createElement('script');
    again.text = script.innerText;
    if (script.type) again.type = script.type;
    output.append(again);
    again.remove();
  }
}"""


@pytest.fixture
def outputs(monkeypatch):
    """Return a function that returns the HTML of two cells of one kernel session."""

    def made() -> list[str]:
        monkeypatch.setattr(embed, "_included_by", {})
        monkeypatch.delenv("MINITENSOR_BOOK", raising=False)
        stages = [stage.record("x = mt.ones([2])\nx.add_(1)", title=title) for title in ("first", "second")]
        return [shown._repr_mimebundle_()["text/html"] for shown in stages]

    return made


def expect_steps(place) -> None:
    """Check that the stage in `place` reacts to the keyboard."""
    place.locator("memory-stage button.next").press("ArrowRight")
    assert soon(lambda: place.locator("memory-stage output").inner_text().startswith("step 2 of 2"))


def test_outputs_inserted_into_a_page_later_work_under_a_strict_policy(open_page, outputs):
    page = open_page()
    page.set_content(f'<!doctype html><meta http-equiv="Content-Security-Policy" content="{html.escape(POLICY)}">')
    first, second = outputs()
    assert first.startswith("<script>") and second.startswith("<memory-stage")
    page.evaluate(
        SHOW, second
    )  # Jupyter inserts this output first if its cell is scrolled into view before the cell whose output has the script
    assert page.locator("memory-stage table").is_visible()
    page.evaluate(SHOW, first)
    assert page.locator("memory-stage button.next").count() == 2
    for place in page.locator("body > div").all():
        expect_steps(place)


def test_in_colab_every_output_works_alone_in_its_frame(open_page, outputs, monkeypatch):
    monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))
    page = open_page()
    frames = "".join(
        f'<iframe sandbox="allow-scripts" srcdoc="{html.escape(output)}"></iframe>' for output in outputs()
    )
    page.set_content(f"<!doctype html>{frames}")
    for number in range(2):
        expect_steps(page.frame_locator("iframe").nth(number))


def test_a_front_end_that_runs_the_scripts_of_an_output_does_not_execute_its_data(open_page, outputs):
    page = open_page()
    page.set_content("<!doctype html>")
    page.evaluate(SHOW, outputs()[0])
    data = page.locator("memory-stage > script").text_content()
    assert json.loads(data)["title"] == "first"
