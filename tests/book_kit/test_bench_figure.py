"""Test that the figures of the benchmarks show the recorded numbers, the machine and the date."""

from __future__ import annotations

import io

import pytest

from book_kit.figures import bench_figure
from memory_stage.figures import paper

pytest.importorskip("matplotlib")


def spread(median: float) -> dict[str, float]:
    return {"median": median, "low": median * 0.9, "high": median * 1.2}


def row(name: str, ours: float, over: str, theirs: float, most: float | None = None, unit: str = "s") -> dict:
    ratio = spread(ours / theirs if theirs else 1.0)
    sides = {"ours": spread(ours), "over": over, "theirs": spread(theirs), "ratio": ratio}
    return {"name": name, "unit": unit, **sides, "most": most, "met": None}


def curve(name: str) -> dict:
    points = [[10.0**k, 1e-6 + 1e-9 * 10.0**k] for k in range(1, 9)]
    return {"name": name, "unit": "s", "per": "byte", "points": points, "fixed": 1e-6, "slope": 1e-9, "worst": 0.0}


@pytest.fixture
def record() -> dict:
    mib = 2.0**20
    article = [
        row(f"{name}{suffix}", ours * scale, over, theirs * scale, unit=unit)
        for over, factor in (("numpy", 1.0), ("torch", 2.0))
        for suffix, scale, unit in (("", 1e-3, "s"), (", peak", mib, "bytes"))
        for name, ours, theirs in (("out of place", 50.0, 40.0 * factor), ("in place", 30.0, 25.0 * factor))
    ]
    dispatch = [
        row("add", 1.0, "torch", 2.0, 0.8),
        row("add_", 1.5, "torch", 2.0),
        row("reshape", 0.7, "torch", 2.0, 0.4),
        row("add", 1.0, "paddle", 4.0),
    ]
    names = ("add, seconds", "add_, seconds", "forward, seconds", "backward, seconds", "graph, bytes")
    return {
        "date": "2026-11-21",
        "machine": {"processor": "Some Processor", "cores": 2},
        "python": "3.11.7",
        "rounds": 5,
        "libraries": {
            "minitensor": {"python": "3.11.7", "numpy": "2.4.6"},
            "numpy": {"python": "3.11.7", "numpy": "2.4.6"},
            "torch": {"python": "3.11.7", "numpy": "2.4.6", "torch": "2.13.0+cpu"},
            "tinygrad": {"python": "3.11.7", "tinygrad": "0.14.0"},
        },
        "subjects": {
            "article": {"rows": article},
            "dispatch": {"rows": dispatch},
            "curves": {"rows": [], "curves": [curve(name) for name in names]},
        },
    }


def widths(axes) -> list[float]:
    return [round(bar.get_width(), 3) for bar in axes.patches]


def test_the_figure_of_the_article_has_bars_for_the_time_and_the_peak_of_every_library(record):
    time, peak = bench_figure.article(record).axes
    assert [label.get_text() for label in time.get_yticklabels()] == ["minitensor", "numpy", "torch"]
    # In milliseconds and MiB: normal operations first, then in-place operations.
    assert widths(time) == [50.0, 40.0, 80.0, 30.0, 25.0, 50.0]
    assert widths(peak) == [50.0, 40.0, 80.0, 30.0, 25.0, 50.0]
    assert [text.get_text() for text in time.texts] == ["50", "40", "80", "30", "25", "50"]


def test_ratios_compare_with_one_library_and_targets_are_marked(record):
    (axes,) = bench_figure.dispatch(record).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["add", "add_", "reshape"]
    assert widths(axes) == [0.5, 0.75, 0.35]
    red = [line.get_xdata()[0] for line in axes.lines if line.get_color() == paper.tokens()["red"]]
    assert red == [0.8, 0.4]


def test_the_bars_of_three_kinds_of_operations_differ_without_colour(record):
    (axes,) = bench_figure.dispatch(record).axes
    assert len({bar.get_hatch() for bar in axes.patches}) == 3
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["out of place", "in place", "view"]


def test_a_curve_is_drawn_with_its_recorded_points_and_its_fitted_line(record):
    by_size, *_ = bench_figure.curves(record).axes
    line, points, *_ = by_size.lines
    given = record["subjects"]["curves"]["curves"][0]
    assert [list(point) for point in zip(points.get_xdata(), points.get_ydata(), strict=True)] == given["points"]
    assert list(line.get_ydata()) == [given["fixed"] + given["slope"] * x for x, _ in given["points"]]
    assert by_size.get_xscale() == by_size.get_yscale() == "log"


@pytest.mark.parametrize("draw", ["article", "dispatch", "curves", "everything"])
def test_every_figure_names_the_machine_the_versions_and_the_date(record, draw):
    figure = getattr(bench_figure, draw)(record)
    figure.savefig(io.BytesIO(), format="svg")
    reported = figure.get_supxlabel()
    for part in ("Some Processor, 2 cores", "Python 3.11.7", "numpy 2.4.6", "torch 2.13.0", "2026-11-21", "5 rounds"):
        assert part in reported
    assert "tinygrad" not in reported  # the record has no measurement of this library


@pytest.mark.parametrize(
    "draw, subject, message",
    [
        ("article", "article", "the record has no benchmark 'article'"),
        ("dispatch", "dispatch", "the record has no benchmark 'dispatch'"),
        ("curves", "curves", "the record has no curves"),
    ],
)
def test_a_record_without_the_measurements_of_a_figure_is_refused(record, draw, subject, message):
    del record["subjects"][subject]
    with pytest.raises(ValueError, match=message):
        getattr(bench_figure, draw)(record)


def test_a_library_that_the_record_does_not_compare_is_refused(record):
    with pytest.raises(ValueError, match="the record compares no operation with 'jax'"):
        bench_figure.dispatch(record, over="jax")


def test_a_library_whose_memory_was_not_measured_is_left_out(record):
    record["subjects"]["article"]["rows"] += [row(name, 1.0, "tinygrad", 2.0) for name in ("out of place", "in place")]
    time, _ = bench_figure.article(record).axes
    assert [label.get_text() for label in time.get_yticklabels()] == ["minitensor", "numpy", "torch"]
