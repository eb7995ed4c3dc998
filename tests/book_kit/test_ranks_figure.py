"""Test that the figure for the costs of ranks shows the measurements, in light and in dark colours."""

from __future__ import annotations

import re

import pytest

from book_kit.figures import ranks_figure
from memory_stage.figures import paper

pytest.importorskip("matplotlib")


def rank(activations: float, computing: float, reducing: float) -> dict[str, float]:
    return {
        "parameters": 2**20,
        "gradients": 2**20,
        "activations": activations,
        "on the way": 2**19,
        "computing": computing,
        "all-reduce": reducing,
    }


def test_a_bar_shows_the_rank_with_the_most_bytes_or_the_longest_time():
    measured = {1: [rank(4 * 2**20, 0.08, 0.0)], 2: [rank(2 * 2**20, 0.04, 0.01), rank(1 * 2**20, 0.05, 0.01)]}
    left, right = ranks_figure.cost(measured).axes
    widths = {(bar.get_y(), round(bar.get_x(), 6)): bar.get_width() for bar in left.patches}
    assert sorted(widths.values()) == pytest.approx([0.5, 0.5, 1, 1, 1, 1, 2, 4])  # MiB
    assert sorted(bar.get_width() for bar in right.patches) == pytest.approx([0, 10, 50, 80])  # ms
    assert [text.get_text() for text in left.texts] == ["6.5", "4.5"]
    assert [text.get_text() for text in right.texts] == ["80", "60"]
    assert [label.get_text() for label in left.get_yticklabels()] == ["1 rank", "2 ranks"]


def test_the_legends_do_not_overlap_and_stay_inside_the_figure():
    figure = ranks_figure.cost({1: [rank(4 * 2**20, 0.08, 0.0)]})
    figure.canvas.draw()
    left, right = (axes.get_legend().get_window_extent() for axes in figure.axes)
    assert left.x1 < right.x0 and right.x1 <= figure.bbox.x1
    assert min(left.y0, right.y0) >= 0


@pytest.mark.parametrize("measured", [{}, {2: [rank(1.0, 1.0, 1.0)]}])
def test_missing_measurements_of_a_rank_are_refused(measured):
    with pytest.raises(ValueError, match="the measurements of every rank"):
        ranks_figure.cost(measured)


def test_a_page_gets_a_drawing_with_a_label_and_with_colours_for_light_and_dark():
    figure = paper.bars({"in place": 1024, "normal": 2048}, title="Bytes <of> two")
    page = figure._repr_html_()
    assert 'role="img"' in page
    assert 'aria-label="Bytes &lt;of&gt; two"' in page
    assert re.search(r"light-dark\(#cad7e5, ?#26385d\)", page)
    assert "<metadata" not in page and not re.search(r'<g id="', page)
    assert page == paper.bars({"in place": 1024, "normal": 2048}, title="Bytes <of> two")._repr_html_()
