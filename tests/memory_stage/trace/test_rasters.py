"""Test the sampling of large storages: the chosen cells, and the grey level of each value."""

from __future__ import annotations

import base64

import numpy as np
import pytest

import minitensor as mt
from memory_stage import api as stage
from memory_stage.model.storages import SAMPLES
from memory_stage.trace.cells import MOST, MOST_PICTURES, Raster
from memory_stage.trace.validation import problems


def row_major(shape):
    return [int(np.prod(shape[d + 1 :])) for d in range(len(shape))]


def raster_of(*shape) -> Raster | None:
    return Raster.of_layout(shape, row_major(shape), 0, int(np.prod(shape)))


def levels(raster: dict) -> np.ndarray:
    return np.frombuffer(base64.b64decode(raster["levels"]), np.uint8).reshape(raster["size"])


SHAPES = [(5000,), (40, 70), (1, 3000), (3, 2, 700), (64, 1, 8, 8), (10, 3, 28, 28), (2, 300, 300), (50, 32, 24, 3)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_each_sample_is_the_cell_in_the_middle_of_its_part_of_the_picture(shape):
    raster = raster_of(*shape)
    cells = np.arange(np.prod(shape)).reshape(shape)
    if shape[-1] == 3:
        cells = cells[..., 0]
    whole = cells.reshape(raster.of)
    assert raster.cells.size <= MOST
    for picture, row, column in np.ndindex(raster.cells.shape):
        at = [
            (2 * k + 1) * n // (2 * m)
            for k, n, m in zip((row, column), raster.of[1:], raster.cells.shape[1:], strict=True)
        ]
        assert raster.cells[picture, row, column] == whole[(picture, *at)]


def test_a_raster_shows_the_first_pictures_of_a_batch_or_one_whole_matrix():
    assert raster_of(64, 1, 8, 8).cells.shape == (MOST_PICTURES, 8, 8)
    assert raster_of(10, 3, 28, 28).of == (30, 28, 28)
    assert raster_of(50, 32, 24, 3).of == (50, 32, 24)
    assert raster_of(40, 70).of == raster_of(1, 40, 70).of == (1, 40, 70)
    assert raster_of(64, 64, 3, 3).of == (1, 64 * 64 * 3, 3)  # the weights of a convolution are not pictures
    assert raster_of(5000).of == (1, 1, 5000)


def test_a_tensor_has_no_raster_if_it_skips_or_repeats_or_reorders_the_cells_of_its_storage():
    assert Raster.of_layout((10, 20), (20, 1), 0, 400) is None
    assert Raster.of_layout((20, 10), (1, 20), 0, 200) is None
    assert Raster.of_layout((200,), (0,), 0, 200) is None
    assert Raster.of_layout((0,), (1,), 0, 0) is None


def test_values_have_levels_from_1_for_the_lowest_to_255_for_the_highest_and_0_if_not_finite():
    values = np.linspace(-2, 2, 100).tolist()
    values[3], values[4], values[5] = np.nan, np.inf, "?"
    found = raster_of(100).with_values(values)
    grey = levels(found).ravel()
    assert (found["low"], found["high"]) == ("-2", "2")
    assert grey[0] == 1 and grey[-1] == 255 and grey[3:6].tolist() == [0, 0, 0]
    finite = np.delete(grey, [3, 4, 5]).astype(int)
    assert (np.diff(finite) >= 0).all() and abs(grey[50] - 128) <= 2


def test_equal_values_have_level_128_in_a_raster_and_non_finite_values_level_0():
    assert set(levels(raster_of(60).with_values([7.0] * 60)).ravel()) == {128}
    assert set(levels(raster_of(60).with_values([np.nan] * 60)).ravel()) == {0}


def events(shown, kind):
    return [event for step in shown.data["variants"][0]["steps"] for event in step["events"] if event["do"] == kind]


def test_the_rasters_of_a_storage_and_of_its_writes_show_the_values_at_that_time():
    shown = stage.record("x = mt.zeros([20, 30])\nx[5:10] = 4.0\nx.add_(1.0)", {"mt": mt})
    assert list(problems(shown.data)) == []
    (made,) = [event["raster"] for event in events(shown, "storage")]
    first, second = (event["raster"] for event in events(shown, "write"))
    assert (made["low"], made["high"]) == ("0", "0")
    assert (first["low"], first["high"], second["low"], second["high"]) == ("0", "4", "1", "5")
    for raster in (first, second):
        assert (levels(raster)[0] == np.where(np.isin(np.arange(20), range(5, 10)), 255, 1)[:, None]).all()


def test_a_storage_whose_numbers_are_shown_has_no_raster():
    shown = stage.record("x = mt.zeros([48])\ny = mt.zeros([49])", {"mt": mt})
    assert [event["length"] for event in events(shown, "storage") if "raster" in event] == [49]


def test_a_long_recording_adds_no_rasters_after_a_limit_of_samples():
    program = "x = mt.zeros([64, 64])\nfor i in range(100):\n    x.add_(1.0)"
    shown = stage.record(program, {"mt": mt})
    sampled = [event["raster"] for event in events(shown, "write") if "raster" in event]
    assert 0 < len(sampled) < 100
    assert sum(levels(raster).size for raster in sampled) <= SAMPLES
    assert "raster" not in events(shown, "write")[-1]
    assert list(problems(shown.data)) == []
