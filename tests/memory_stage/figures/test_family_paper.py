"""Test the figures for paper: areas are as large as the reported bytes, and differ even without colour."""

from __future__ import annotations

import io

import pytest

from memory_stage.figures import memory_events, paper
from tests.support.web import family

pytest.importorskip("matplotlib")


def stack_of(axes):
    """Map the label of each area of a stacked timeline to its heights. The bottom area comes first."""
    bands = {}
    for patch in axes.patches:
        data = patch.get_data()
        if patch.get_fill():
            bands[patch.get_label()] = [a - b for a, b in zip(data.values, data.baseline, strict=True)]
    return bands


def test_the_areas_of_a_timeline_add_up_to_the_allocated_bytes():
    log = family.log_of("normal")
    axes = paper.timeline({"normal": log, "in place": family.log_of("in place")}).axes[0]
    run = memory_events.described(memory_events.events_of(log), names := {})
    bands = stack_of(axes)
    assert list(bands) == ["x", "w", "h", "h2", "r", "(relu gradient)", "w.grad", "2 others"]
    totals = [sum(column) for column in zip(*bands.values(), strict=True)]
    assert max(totals) == run.peak and totals[-1] == run.end
    assert list(names) == ["x", "w", "b", "h", "h2", "r", "loss", "(relu gradient)", "w.grad"]
    outline = next(patch for patch in axes.patches if not patch.get_fill())
    assert max(outline.get_data().values) == 65_952
    assert any("peak 64.4 KiB" in text.get_text() for text in axes.texts)


def test_the_areas_of_eight_names_differ_even_without_colour():
    looks = [paper.look_of(number) for number in range(8)]
    assert len({look["hatch"] for look in looks}) == 8
    tokens = paper.tokens()
    assert {look["facecolor"] for look in looks} == {tokens[f"t{n}"] for n in (1, 2, 3, 4)}


def test_a_bar_is_as_long_as_its_bytes_and_has_a_note_if_they_exceed_the_capacity():
    axes = paper.bars({"normal": 134_217_728, "in place": 67_108_864}, capacity=100 << 20).axes[0]
    assert [bar.get_width() for bar in axes.patches] == [134_217_728, 67_108_864]
    assert [text.get_text() for text in axes.texts] == ["128.0 MiB × does not fit", "64.0 MiB", "capacity 100.0 MiB"]


def test_a_label_that_looks_like_mathtext_is_written_literally():
    figure = paper.bars({"_$x^2$_": 5, r"\frac": 7})
    figure.savefig(io.BytesIO(), format="svg")
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["\u200b_\\$x^2\\$_", r"\frac"]


@pytest.mark.parametrize("top", [1, 36, 999, 1024, 70_000, 99_999, 100_000, 400_000_000, 1 << 41])
def test_an_axis_has_round_numbers(top):
    axes = paper.bars({"a": top}).axes[0]
    ticks = [tick for tick in axes.get_xticks() if tick]
    assert 1 <= len(ticks) <= 5 and max(ticks) <= top


def test_data_that_cannot_be_drawn_are_refused():
    with pytest.raises(ValueError, match="at least one label"):
        paper.bars({})
    with pytest.raises(ValueError, match="0 or more"):
        paper.bars({"a": -1})
    with pytest.raises(ValueError, match="there is no run 'c'; the runs are 'a'"):
        paper.timeline({"a": family.log_of("normal")}, run="c")
