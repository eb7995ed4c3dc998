"""Test storages of real size in a page: a batch of digits as pictures, a matrix as a map, a vector as a band."""

from __future__ import annotations

import base64
import re

import numpy as np
import pytest

import minitensor as mt
from book_kit.data.bundled import digits
from memory_stage import api as stage
from tests.support.web import pages

PROGRAM = "x = mt.to_tensor(scans)\nfirst = x[0]\nfirst.scale_(-1.0)\nw = mt.to_tensor(weights)\nw[3:9] = 0.0\n"
# The box of a heavy frame, and those of the samples of each storage, relative to the picture.
DRAWN = """() => {
    const svg = document.querySelector('memory-stage').shadowRoot.querySelector('.pic svg');
    const boxOf = part => {
        const { x, y, width, height } = part.getBoundingClientRect();
        return [x, y, width, height];
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
def test_a_batch_of_digits_is_drawn_as_pictures_and_a_write_frames_one(show, trace, width, scheme):
    page = show(body=pages.element(trace), width=width, scheme=scheme)
    page.evaluate("document.querySelector('memory-stage').go(2)")
    drawn = page.evaluate(DRAWN)["1"]
    assert drawn["shades"] > 8
    ((left, top, wide, high),) = drawn["heavy"]
    assert wide == high >= 40  # the digits are square
    pictures = [box for box in drawn["grounds"] if box[2:] == [wide, high]]
    assert min(pictures)[:2] == [left, top]
    shown = 64 - int(re.search(r"(\d+)more", drawn["text"].replace("→ 1", ""))[1])
    assert shown >= 2 and len(pictures) - shown in (0, 1)  # the box of the count may be as large
    assert page.evaluate("tooWide()") == []


def test_the_shades_of_a_digit_are_its_pixels(trace):
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
    assert (top - ground[1]) / ground[3] == pytest.approx(3 / 40, abs=0.01)
    assert high / ground[3] == pytest.approx(6 / 40, abs=0.01)


def test_a_step_is_drawn_within_50_milliseconds(show, trace):
    page = show(body=pages.element(trace), width=1280)
    best_of_each_step = page.evaluate(
        """() => {
            const stage = document.querySelector('memory-stage'), best = Array(5).fill(Infinity);
            for (let round = 0; round < 6; round++) for (let step = 0; step < 5; step++) {
                const start = performance.now();
                stage.go(step);
                best[step] = Math.min(best[step], performance.now() - start);
            }
            return best;
        }"""
    )
    assert max(best_of_each_step) < 50  # the best of six, because other programs use this machine
