"""Test memory events and the timeline against handwritten values and the allocator's counters."""

from __future__ import annotations

import gzip
import json
import random
import re
from pathlib import Path

import jsonschema
import pytest

import minitensor as mt
from memory_stage.figures import allocator_map, memory_events, timeline
from memory_stage.web import element, embed
from minitensor import memory
from minitensor.engine.device.allocator import CachingAllocator
from minitensor.engine.device.memory_log import MemoryEvent, MemoryLog
from tests.support.web import family

FOLDER = Path(timeline.__file__).parent


def event(kind, address, size, **more):
    return MemoryEvent(kind, address, size, more.pop("requested", size), **more)


def test_a_run_is_described_with_bytes_names_and_lines():
    run = memory_events.described(
        [
            event("alloc", 10, 512, requested=500, name="x", op="randn", line=3),
            event("alloc", 20, 256, op="add", line=4),
            event("write", 10, 512, name="x", op="add_", line=5),
            event("free", 20, 256, line=6),
        ],
        names := {},
    )
    assert list(names) == ["x", "(add)"]
    assert [entry["say"] for entry in run.events] == [
        "`randn` (line 3) takes 512 B (500 asked for) for `x`: 512 B are allocated, the most so far.",
        "`add` (line 4) takes 256 B: 768 B are allocated, the most so far.",
        "`add_` (line 5) writes 512 B of `x` in place: no byte is taken, 768 B stay allocated.",
        "The result of `add` is freed at line 6: 256 B fewer, 512 B are allocated.",
    ]
    assert (run.peak, run.peak_at, run.end) == (768, 1, 512)


def test_a_block_that_is_freed_without_an_allocation_existed_before_the_first_event():
    events = [
        event("free", 10, 100, name="x"),
        event("alloc", 10, 30, name="y"),
        event("segment_free", 5, 200),
        event("free", 40, 7, name="z"),
    ]
    run = memory_events.described(events, {})
    assert [(block["bytes"], block["block"]) for block in run.before] == [(100, 1), (7, 2)]
    assert (run.reserved, run.peak, run.peak_at, run.end) == (200, 107, 0, 30)
    table = timeline.show(events).tables[1]
    assert table.caption == "Allocated bytes by name at the peak, event 1"


@pytest.mark.parametrize("seed", range(3))
def test_the_peak_and_the_totals_of_a_run_equal_those_of_the_allocator(seed):
    rng = random.Random(seed)
    log = MemoryLog(CachingAllocator(1 << 30, "torch"), clock=lambda: 0)
    blocks, totals = [], []
    for _ in range(700):
        if blocks and rng.random() < 0.45:
            log.free(blocks.pop(rng.randrange(len(blocks))))
        else:
            blocks.append(log.allocate(rng.choice([100, 3000, 50_000, 3_000_000]), name=rng.choice("abcdefghijkl")))
        totals.append(log.allocator.allocated)
    run = memory_events.described(list(log.events), {})
    assert (run.peak, run.end) == (log.allocator.max_allocated, log.allocator.allocated)
    for most in (50, 400):
        thin = timeline._thinned(run, most)
        assert len(thin.events) <= 2 * most and (thin.peak, thin.end) == (run.peak, run.end)
        data = timeline.show(log).data
        data["runs"][0].update(events=thin.events, before=thin.before)
        rows = {row[0]: row[2] for row in element.ask_script("tables", data)[0]["rows"]}
        assert rows["all"] == memory_events.bytes_shown(log.allocator.max_allocated)
        assert element.ask_script("sentence", data) == thin.events[thin.peak_at]["say"]


def test_python_and_the_page_write_bytes_in_the_same_way():
    rng = random.Random(1)
    numbers = [0, 1, 999, 1000, 99_999, 100_000, 1 << 20, 5 << 18, 1_342_177_280, (1 << 40) + 7]
    numbers += [rng.randrange(1 << rng.randrange(1, 42)) for _ in range(300)]
    assert [memory_events.bytes_shown(n) for n in numbers] == [element.ask_script("bytesText", n) for n in numbers]


def test_a_recording_of_the_engine_can_be_shown_as_a_timeline():
    x = mt.ones([1000])
    with memory.record() as recording:
        y = x * 2.0
        y.add_(1.0)
        del y
    figure = timeline.show(recording)
    assert [entry["do"] for entry in figure.data["runs"][0]["events"]] == ["alloc", "note", "free"]
    assert figure.data["names"] == ["y"]
    assert figure.sentence.startswith("`multiply` (line ") and "3.9 KiB for `y`" in figure.sentence


def test_events_of_two_devices_are_refused_unless_one_device_is_chosen():
    events = [event("alloc", 1, 8, device="cpu"), event("alloc", 1, 512, device="gpu:sim")]
    with pytest.raises(ValueError, match="events of cpu and gpu:sim; choose one device with device="):
        timeline.show(events)
    assert timeline.show(events, device="cpu").data["runs"][0]["events"][0]["bytes"] == 8


@pytest.mark.parametrize("source, error, said", [
    (3, TypeError, "a MemoryLog, a recording or a list"),
    ("alloc", TypeError, "not 'alloc'"),
    ([("alloc", 1, 2)], TypeError, "a memory event must be a MemoryEvent"),
    ([], ValueError, "no memory event to show"),
    ({}, ValueError, "at least one run"),
])  # fmt: skip
def test_data_that_are_not_a_run_are_refused(source, error, said):
    with pytest.raises(error, match=said):
        timeline.show(source)


# ---------- rules for all figures ----------


@pytest.mark.parametrize("name", family.figures())
def test_the_data_of_each_figure_follow_the_schema(name):
    data = family.figures()[name].data
    kind = data["schema"].partition("/")[0]
    schema = json.loads((FOLDER / f"{kind}.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(json.dumps(data)), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**data, "more": 1}, schema)


@pytest.mark.parametrize("name", family.figures())
def test_the_output_can_be_read_without_a_script_and_contains_no_markup_of_the_program(name):
    figure = family.figures()[name]
    page = figure.as_html()
    before, data, after = re.split(r'<script type="application/json">|</script>', page)
    assert json.loads(data) == figure.data
    tags = set(re.findall(r"<([a-zA-Z][\w-]*)", before + after))
    words = {"div", "p", "strong", "code", "ol", "li", "table", "caption", "thead", "tbody", "tr", "th", "td"}
    drawn = {"svg", "style", "defs", "pattern", "g", "rect", "circle", "path", "text", "title"}
    assert tags <= {"memory-figure"} | words | drawn
    assert "<svg" in page and figure.sentence in figure.as_text()
    assert not re.search(r"\n\s*\n", page)


def test_only_the_first_output_contains_the_script_and_no_output_in_the_book_does(monkeypatch):
    figure = family.figures()["timeline"]
    monkeypatch.setattr(embed, "_included_by", {})
    monkeypatch.delenv("MINITENSOR_BOOK", raising=False)
    first, second = (figure._repr_mimebundle_()["text/html"] for _ in range(2))
    assert first.startswith("<script>") and second.startswith("<memory-figure")
    monkeypatch.setattr(embed, "_included_by", {})
    monkeypatch.setenv("MINITENSOR_BOOK", "1")
    assert figure._repr_mimebundle_()["text/html"].startswith("<memory-figure")


def test_without_v8_a_figure_has_its_text_and_tables_but_no_picture(monkeypatch):
    def no_v8():
        raise ImportError("no V8")

    monkeypatch.setattr(element, "_script", no_v8)
    page = family.figures()["timeline"].as_html()
    assert "<svg" not in page and "<table>" in page and "takes 8.0 KiB" in page


def test_a_widget_has_the_data_of_its_figure_and_the_script_of_a_page():
    pytest.importorskip("anywidget")
    figure = family.figures()["fits"]
    widget = figure.widget()
    assert widget.data == {**figure.data, "live": True}
    widget.chosen = {"wish": 7}
    assert 7 in widget.data["batches"]
    assert str(widget._esm).startswith(element.script_source()[:200])


def test_the_script_is_small_and_loads_nothing_from_other_hosts():
    source = element.script_source()
    assert len(gzip.compress(source.encode(), mtime=0)) < 22_500
    for word in ("import ", "fetch(", "XMLHttp", "@import", "eval(", "</script", "new Function", "document.write"):
        assert word not in source, word
    hosts = {part.split("/")[0].split('"')[0] for part in source.replace("http:", "https:").split("https://")[1:]}
    assert hosts <= {"www.w3.org"}  # the namespace of SVG, which a browser does not fetch


def test_a_figure_of_a_simulated_gpu_has_a_note_in_its_title() -> None:
    try:
        mt.set_device("gpu:sim", capacity="64 MiB")
        with memory.record() as recorded:
            mt.ones([1000]).add_(1.0)
        assert timeline.show(recorded, title="A step").data["title"] == "A step (simulated GPU)"
        assert allocator_map.show(recorded).data["title"].endswith("(simulated GPU)")
        mt.set_device("cpu")
        with memory.record() as on_host:
            mt.ones([1000])
        assert "simulated" not in timeline.show(on_host).data["title"]
    finally:
        mt.set_device("cpu")


def test_an_allocation_that_only_reaches_the_peak_again_is_not_the_most_so_far():
    events = [event(kind, 10, 100) for kind in ("alloc", "free", "alloc")]
    run = memory_events.described(events, {})
    assert ["the most so far" in entry["say"] for entry in run.events] == [True, False, False]
