"""The page around the stage: prose keeps a measure that can be read, pictures take the room there is."""

from __future__ import annotations

from statistics import median

import pytest

from tests.chapters.chapter import pages

READ = pages()
MEASURE = range(66, 76)  # characters a line
STAGE_WIDTH = 1180  # pixels, where there is room
# The characters in each line of the page's paragraphs, the last lines of paragraphs left out.
LINES = """() => {
    const lines = [];
    for (const paragraph of document.querySelectorAll('.bd-article section > p')) {
        const range = document.createRange();
        const texts = document.createTreeWalker(paragraph, NodeFilter.SHOW_TEXT);
        let left = null, count = 0;
        for (let text = texts.nextNode(); text; text = texts.nextNode()) {
            for (let at = 0; at < text.length; at++) {
                range.setStart(text, at);
                range.setEnd(text, at + 1);
                const [box] = range.getClientRects();
                if (!box) continue;
                if (left !== null && box.left < left - 30) { lines.push(count); count = 0; }
                left = box.left;
                count++;
            }
        }
    }
    return lines;
}"""
WIDTHS = "stages => stages.map(stage => stage.getBoundingClientRect().width)"
OVERFLOWS = "outputs => outputs.map(output => getComputedStyle(output).overflow)"


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("width", [1440, 3840])
def test_prose_keeps_its_measure_and_a_stage_breaks_out_of_it(site, visit, name, width):
    seen = visit(f"{site}{name}.html", width=width)
    lines = seen.page.evaluate(LINES)
    if len(lines) > 10:  # an appendix has next to no prose
        assert MEASURE[0] <= median(lines) <= MEASURE[-1]
    widths = seen.page.locator("memory-stage").evaluate_all(WIDTHS)
    assert set(widths) <= {STAGE_WIDTH}
    assert seen.overflow() == 0


@pytest.mark.parametrize("name", READ)
def test_what_a_stage_keeps_in_view_is_not_clipped(site, visit, name):
    seen = visit(f"{site}{name}.html", width=390)
    outputs = seen.page.locator("div.output:has(> memory-stage)")
    assert outputs.count() == seen.page.locator("memory-stage").count()
    assert set(outputs.evaluate_all(OVERFLOWS)) <= {"visible"}
