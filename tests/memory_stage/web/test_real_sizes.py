"""Test storages of realistic size in a page: a batch of digits as pictures, a matrix as a map, a vector as a band."""

from __future__ import annotations

import base64
import re

import numpy as np
import pytest

import minitensor as mt
from book_kit.data.bundled import digits
from memory_stage import api as stage
from memory_stage.trace.validation import problems
from tests.support.web import pages

PROGRAM = "x = mt.to_tensor(scans)\nfirst = x[0]\nfirst.scale_(-1.0)\nw = mt.to_tensor(weights)\nw[3:9] = 0.0\n"
# For each storage: the number of its shades, its text, and the boxes of its heavy frames and of its backgrounds, in px
# relative to the window.
DRAWN = """() => {
    const svg = document.querySelector('memory-stage').shadowRoot.querySelector('.pic svg');
    const boxOf = part => {
        const { x, y, width, height } = part.getBoundingClientRect();
        return [x, y, width, height].map(Math.round);
    };
    const storages = {};
    for (const group of svg.querySelectorAll('[data-storage]')) {
        const shades = [...group.querySelectorAll('path[style*=opacity]')].filter(path => !path.closest('defs'));
        const heavy = [...group.querySelectorAll('rect')].filter(rect => rect.style.strokeWidth === '3');
        const grounds = [...group.querySelectorAll('rect')].filter(rect => rect.style.strokeWidth === '1');
        storages[group.dataset.storage] = {
            shades: shades.length, heavy: heavy.map(boxOf), grounds: grounds.map(boxOf), text: group.textContent };
    }
    return storages;
}"""


@pytest.fixture(scope="module")
def trace() -> dict:
    weights = np.sin(np.arange(40) / 6)[:, None] * np.cos(np.arange(70) / 9)
    names = {"mt": mt, "scans": digits()[0][:64], "weights": weights.astype("float32")}
    return stage.record(PROGRAM, names, title="Real sizes").data


@pytest.mark.parametrize("width", [390, 760, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_batch_of_digits_is_drawn_as_pictures_and_the_written_picture_is_framed(show, trace, width, scheme):
    page = show(body=pages.element(trace), width=width, scheme=scheme)
    page.evaluate("document.querySelector('memory-stage').go(2)")
    drawn = page.evaluate(DRAWN)["1"]
    assert drawn["shades"] > 8
    ((left, top, wide, high),) = drawn["heavy"]
    assert wide == high >= 40  # the digits are square
    pictures = [box for box in drawn["grounds"] if box[2:] == [wide, high]]
    assert min(pictures)[:2] == [left, top]
    shown = 64 - int(re.search(r"(\d+)more", drawn["text"].replace("→ 1", ""))[1])
    assert shown >= 2 and len(pictures) - shown in (0, 1)  # the box with the number of other digits may be as large
    assert page.evaluate("tooWide()") == []


def test_the_grey_levels_of_a_digit_are_its_scaled_pixels(trace):
    (made,) = [event for event in trace["variants"][0]["steps"][0]["events"] if event["do"] == "storage"]
    levels = np.frombuffer(base64.b64decode(made["raster"]["levels"]), np.uint8).reshape(made["raster"]["size"])
    scans = digits()[0][: len(levels), 0]
    assert np.abs((levels - 1.0) / 254 - scans / scans.max()).max() < 1 / 254


def test_written_rows_of_a_matrix_are_framed_in_its_map(show, trace):
    page = show(body=pages.element(trace), width=1280)
    page.evaluate("document.querySelector('memory-stage').go(4)")
    drawn = page.evaluate(DRAWN)
    number, storage = next((key, one) for key, one in drawn.items() if one["heavy"])
    (left, top, wide, high) = storage["heavy"][0]
    ground = min(box for box in storage["grounds"] if box[3] > 60 and box[0] > left - 5)
    assert number != "1" and storage["shades"] > 8
    assert (left, wide) == pytest.approx((ground[0], ground[2]), abs=1)
    assert top - ground[1] == pytest.approx(ground[3] * 3 / 40, abs=1)  # rounded to whole px
    assert high == pytest.approx(ground[3] * 6 / 40, abs=1)


# ---- many storages -----------------------------------------------------------------------------------------------

MANY = 200


def network(written: int) -> dict:
    """Return a trace with two steps: one makes 200 parameters, the other writes the first ``written`` parameters."""
    names = [f"net.layers[{i // 40}].part{i % 40 // 10}.weight{i % 10}" for i in range(MANY)]
    shown = {"shape": [8, 8], "strides": [8, 1], "offset": 0, "dtype": "float32", "stop_gradient": False, "leaf": True}
    made = [
        event
        for i, name in enumerate(names)
        for event in (
            {"do": "storage", "id": f"{i + 1}", "length": 64, "itemsize": 4, "bytes": 256, "dtype": "float32"}
            | {"values": {str(k): "1" for k in range(64)}},
            {"do": "tensor", "id": f"t{i + 1}", "storage": f"{i + 1}", **shown},
            {"do": "name", "name": name, "tensor": f"t{i + 1}", "kind": "name"},
        )
    ]
    writes = [
        {"do": "write", "storage": f"{i + 1}", "cells": {str(k): "2" for k in range(64)}, "count": 64, "version": 1}
        for i in range(written)
    ]
    step = {"line": 1, "end": 1, "phase": "forward", "say": "Made.", "allocated": 256 * MANY, "peak": 256 * MANY}
    steps = [{**step, "events": made}, {**step, "line": 2, "end": 2, "say": "Written.", "events": writes}]
    run = {"id": "only", "label": "", "code": ["net = Net()", "step()"], "verdict": None, "truncated": None, "key": 1}
    return {
        "schema": "stage/1", "title": "A network", "ask": None, "device": "cpu", "compare": None,
        "variants": [{**run, "steps": steps}],
    }  # fmt: skip


@pytest.mark.parametrize("written", [1, MANY])
@pytest.mark.parametrize("depth", ["memory", "tensors"])
@pytest.mark.parametrize("width", [390, 1280])
def test_a_step_with_200_tensors_draws_a_few_in_full_and_groups_small_ones_by_module(show, written, depth, width):
    trace = network(written)
    assert list(problems(trace)) == []
    page = show(body=pages.element(trace, attributes=f'depth="{depth}"'), width=width)
    size, full, rest, framed, labels = page.evaluate(
        """() => {
            const svg = document.querySelector('memory-stage').shadowRoot.querySelector('.pic svg');
            const groups = [...svg.querySelectorAll('[data-storage]')];
            const isSmall = group => group.querySelector(':scope > title');
            const small = groups.filter(isSmall);
            const framed = small.filter(group => group.querySelector('rect').style.strokeWidth === '2');
            const whole = svg.getBoundingClientRect();
            const outside = small.filter(group => group.getBoundingClientRect().right > whole.right + 1);
            const labels = [...svg.querySelectorAll('text')].map(text => text.textContent);
            return [[whole.width, whole.height, outside.length], groups.length - small.length, small.length,
                framed.length, labels];
        }"""
    )
    assert full + rest == MANY and 1 <= full <= 10
    assert framed == max(0, written - full) or (written == 1 and framed == 0)
    assert size[1] < 1300 and size[2] == 0
    modules = [text for text in labels if text.startswith("net.layers[")]
    assert len(modules) >= 5
    assert any(f"{rest} more storages" in text for text in labels)
