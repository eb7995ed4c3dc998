"""Test the stride explorer and the what-fits explorer against numpy, the engine and the simulated GPU."""

from __future__ import annotations

import numpy as np
import pytest

import minitensor as mt
from memory_stage.figures import stride_explorer, what_fits
from memory_stage.web import element
from minitensor import memory
from minitensor.engine.device.allocator import CachingAllocator
from tests.support.web import family

# ---------- the stride explorer ----------


def views_of(x):
    return {
        "x": x,
        "transposed": x.transpose([1, 0]),
        "a column": x[:, 1:2],
        "every second row": x[::2],
        "backwards": x[:, ::-1],
        "a row": x[2],
        "an element": x[1, 1],
    }


def test_every_element_of_every_view_is_the_number_that_the_engine_reads():
    x = mt.arange(12, dtype="float32").reshape([4, 3]) * 1.5
    figure = stride_explorer.show(x, views=views_of(x))
    for number, view in enumerate(views_of(x).values()):
        chosen = {key: figure.data["views"][number][key] for key in ("shape", "strides", "offset")}
        (table,) = element.ask_script("tables", figure.data, {**chosen, "index": [0] * view.ndim})
        assert [float(row[3]) for row in table["rows"]] == np.ravel(view.numpy()).tolist()
        addresses = [int(row[2]) + x.data_ptr() for row in table["rows"]]
        array = view._array
        begin = array.__array_interface__["data"][0]
        assert addresses == [
            begin + sum(i * s for i, s in zip(index, array.strides, strict=True)) for index in np.ndindex(array.shape)
        ]


def test_python_and_the_page_write_the_same_text():
    x = mt.arange(12).reshape([4, 3])
    for label, view in views_of(x).items():
        figure = stride_explorer.show(x, views={label: view})
        assert element.ask_script("sentence", figure.data) == figure.sentence
        (table,) = element.ask_script("tables", figure.data)
        assert [tuple(row) for row in table["rows"]] == list(figure.tables[1].rows)


@pytest.mark.parametrize("make, said", [
    (lambda x: {"tensor": mt.zeros([37])}, "1 to 36 elements for the stride explorer, not 37"),
    (lambda x: {"tensor": mt.zeros([0])}, "1 to 36 elements for the stride explorer, not 0"),
    (lambda x: {"tensor": x, "views": {"copy": x + 1}}, "'copy' has another storage"),
    (lambda x: {"tensor": x, "index": [4, 0]}, "has no element of index .4, 0."),
    (lambda x: {"tensor": x, "index": [1]}, "has no element of index .1."),
])  # fmt: skip
def test_data_that_cannot_be_drawn_are_refused(make, said):
    with pytest.raises(ValueError, match=said):
        given = make(mt.zeros([4, 3]))
        stride_explorer.show(given.pop("tensor"), **given)


# ---------- the what-fits explorer ----------


def linear(batch, size):
    """Run a layer forward and backward. Its blocks grow with the batch and with the square of the size."""
    w = mt.ones([size, size])
    w.stop_gradient = False
    x = mt.ones([batch, size])
    mt.relu(x @ w).sum().backward()


def test_peaks_at_larger_sizes_are_those_of_a_real_run():
    figure = what_fits.show({"linear": linear}, batches=[5, 24], sizes=[30, 100])
    for s, size in enumerate(figure.data["sizes"]):
        for b, batch in enumerate(figure.data["batches"]):
            law = what_fits.learn("linear", linear, None, (4, 8, 12, 16))
            with memory.measure("cpu") as measured:
                linear(batch, size)
            nbytes = law.sizes(batch, size)
            now = peak = 0
            for block, op in law.events:
                now += nbytes[block] if op is not None else -nbytes[block]
                peak = max(peak, now)
            assert peak == measured.peak
            assert figure.data["kinds"][0]["peaks"][s][b] >= peak  # the allocator rounds each block up


def forward(batch, size):
    """Allocate and free blocks, with scratch memory inside operations."""
    w = mt.ones([size, size])
    x = mt.ones([batch, size])
    h = mt.relu(x @ w) * 2.0
    del x
    h = mt.tanh(h @ w)
    del w, h
    mt.ones([2 * batch, size])


@pytest.mark.parametrize("program", [forward, linear])
def test_out_of_memory_is_predicted_exactly_where_the_simulated_gpu_runs_out(program):
    """The law of growth is learned on the simulated GPU, so that it includes the scratch memory inside operations."""
    before = mt.device.get_device()
    capacities = [150_000, 210_000, 240_000, 360_000, 500_000, 600_000]
    batches, sizes = [16, 64, 100], [100, 160]
    found = {}
    try:
        mt.device.set_device("gpu:sim", capacity="64 MiB", profile="paddle")
        data = what_fits.show(
            {"program": program}, batches=batches, sizes=sizes, capacities=capacities, profile="paddle"
        ).data
        for c, capacity in enumerate(capacities):
            for s, size in enumerate(sizes):
                for b, batch in enumerate(batches):
                    mt.device.set_device("gpu:sim", capacity=capacity, profile="paddle")
                    try:
                        program(batch, size)
                        fits = True
                    except mt.device.OutOfMemoryError:
                        fits = False
                    found[fits] = found.get(fits, 0) + 1
                    assert (data["kinds"][0]["ends"][c][s][b] < what_fits.STOPPED) is fits, (capacity, size, batch)
    finally:
        mt.device.set_device(before)
    assert min(found[True], found[False]) > 5
    released = [end for grid in data["kinds"][0]["ends"] for row in grid for end in row if end == what_fits.RELEASED]
    assert released


def test_a_program_that_fits_only_because_a_segment_is_released_is_reported():
    def program(batch, size):
        x = mt.ones([batch, size, size])
        del x
        mt.ones([batch, 2 * size, size])

    data = what_fits.show(
        {"program": program}, batches=[1], sizes=[2048], capacities=["40 MiB", "24 MiB"], capacity="40 MiB"
    ).data
    # 16 MiB are freed before 32 MiB are allocated. An allocator with enough memory reserves both, 48 MiB. 40 MiB are
    # also enough, because the allocator can release the first segment.
    assert data["kinds"][0]["reserved"] == [[48 << 20]]
    assert [end[0][0] for end in data["kinds"][0]["ends"]] == [2, 1]


def test_the_explorer_computes_the_peaks_that_the_article_reports():
    """The article reports 134217728 bytes for ReLU, 67108864 bytes in place, and 382 MiB for 10000 x 10000 numbers."""

    def normal(batch, size):
        x = mt.zeros([batch, 64, size, size])
        mt.relu(x)

    def in_place(batch, size):
        mt.relu_(mt.zeros([batch, 64, size, size]))

    given = {"batches": [1], "sizes": [512], "profile": "paddle"}
    data = what_fits.show({"normal": normal, "in place": in_place}, **given).data
    assert [kind["peaks"] for kind in data["kinds"]] == [[[134_217_728]], [[67_108_864]]]
    square = what_fits.show({"one": lambda batch, size: mt.zeros([size, size])}, batches=[1], sizes=[10_000])
    assert square.data["kinds"][0]["peaks"] == [[382 << 20]]


def test_the_peak_of_a_program_is_proportional_to_the_bytes_of_an_element():
    def program(batch, size, dtype):
        mt.relu(mt.zeros([batch, 64, size, size], dtype))

    def in_place(batch, size, dtype):
        mt.relu_(mt.zeros([batch, 64, size, size], dtype))

    given = {"batches": [1, 2], "sizes": [512], "capacities": ["128 MiB"], "batch": 2, "profile": "paddle"}
    figure = what_fits.show({"p": program, "p_": in_place}, dtypes=["float32", "float16", "uint8"], **given)
    assert figure.data["dtypes"] == ["float32", "float16", "uint8"] and figure.data["opens"]["dtype"] == 0
    assert [kind["label"] for kind in figure.data["kinds"]] == ["p", "p_"] * 3
    MiB = 1 << 20
    assert [kind["peaks"] for kind in figure.data["kinds"]] == [
        [[128 * MiB // k, 256 * MiB // k]] for k in (1, 2, 2, 4, 4, 8)
    ]
    assert element.ask_script("sentence", figure.data) == figure.sentence
    assert figure.sentence.startswith("With batch 2 and size 512, p in float32 would allocate 256.0 MiB at its peak")
    assert [row[:2] for row in figure.tables[0].rows] == [("p", "256.0 MiB"), ("p_", "128.0 MiB")]
    (table,) = element.ask_script("tables", figure.data)
    assert table["caption"] == figure.tables[1].caption
    assert [tuple(row) for row in table["rows"]] == list(figure.tables[1].rows)
    with pytest.raises(TypeError, match="dtype 'float8' is not supported"):
        what_fits.show({"p": program}, dtypes=["float8"], **given)


def test_a_refused_program_is_reported_as_refused():
    def program(batch, size):
        x = mt.ones([batch, size])
        x.stop_gradient = False
        (x * 1.0).sin_().sum().backward()

    figure = what_fits.show({"sin_": program}, policies=["2.5", "2.6"])
    assert [kind["label"] for kind in figure.data["kinds"]] == ["sin_, 2.5", "sin_, 2.6"]
    assert [row[3] for row in figure.tables[0].rows] == ["refused", "fits"]
    assert figure.sentence.startswith("sin_, 2.5 is refused at every size: ")
    assert element.ask_script("sentence", figure.data) == figure.sentence


def test_python_and_the_page_describe_every_outcome_in_the_same_way():
    for batch, capacity in ((32, "4 GiB"), (128, "4 GiB"), (1, "80 GiB")):
        programs = {"normal": family.layers(mt.relu)}
        figure = what_fits.show(programs, batch=batch, size=512, capacity=capacity)
        assert element.ask_script("sentence", figure.data) == figure.sentence
        (table,) = element.ask_script("tables", figure.data)
        assert [tuple(row) for row in table["rows"]] == list(figure.tables[1].rows)


def test_programs_without_a_law_of_growth_are_refused():
    def more_blocks(batch, size):
        kept = [mt.ones([size]) for _ in range(batch)]
        del kept

    def cubic(batch, size):
        mt.ones([size, size, size])

    with pytest.raises(ValueError, match="allocates other blocks at batch 2, size 4"):
        what_fits.show({"p": more_blocks})
    with pytest.raises(ValueError, match="allocates other numbers of bytes at batch 3, size 16"):
        what_fits.show({"p": cubic})


def test_an_error_of_a_program_is_raised_and_an_unknown_batch_is_refused():
    with pytest.raises(TypeError):
        what_fits.show({"p": lambda batch: None})
    with pytest.raises(ValueError, match=r"batch must be one of .*, not 3"):
        what_fits.show({"p": allocating(mt.ones)}, batch=3)


def allocating(make):
    return lambda batch, size: make([batch, size])


def test_replaying_a_law_results_in_the_segments_of_a_real_allocator():
    allocator, stopped = what_fits.replay([(0, "a"), (1, "b"), (0, None), (2, "c")], [600, 100, 700], "torch", 1 << 40)
    other = CachingAllocator(1 << 40, "torch")
    first = other.allocate(600)
    other.allocate(100)
    other.free(first)
    other.allocate(700)
    assert stopped is None and allocator.segments() == other.segments()
