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
each_page_to_read = pytest.mark.parametrize("opened", READ, indirect=True)


@pytest.mark.parametrize("width", [1440, 3840])
@each_page_to_read
def test_prose_keeps_its_measure_and_a_stage_breaks_out_of_it(opened, width):
    opened.page.set_viewport_size({"width": width, "height": 900})
    lines = opened.page.evaluate(LINES)
    if len(lines) > 10:  # an appendix has next to no prose
        assert MEASURE[0] <= median(lines) <= MEASURE[-1]
    widths = opened.page.locator("memory-stage").evaluate_all(WIDTHS)
    assert set(widths) <= {STAGE_WIDTH}
    assert opened.overflow() == 0


@each_page_to_read
def test_what_a_stage_keeps_in_view_is_not_clipped(opened):
    opened.page.set_viewport_size({"width": 390, "height": 900})
    outputs = opened.page.locator("div.output:has(> memory-stage)")
    assert outputs.count() == opened.page.locator("memory-stage").count()
    assert set(outputs.evaluate_all(OVERFLOWS)) <= {"visible"}
