"""Test the memory meter: after every cell it shows the counters and the change that the cell made."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

import minitensor as mt
from memory_stage.figures import meter
from memory_stage.web import element
from tests.support.web import drawing


@pytest.fixture(autouse=True)
def device():
    before = mt.device.get_device()
    mt.device.set_device("gpu:sim", capacity="64 MiB")
    yield
    mt.device.set_device(before)
    while meter._shown:
        meter._shown.pop().stop()


def test_after_every_cell_the_meter_shows_the_changes_of_the_cell(shell):
    shell.run_cell("from book_kit import meter\nimport minitensor as mt\nshown = meter.show()")
    shown = shell.user_ns["shown"]
    shell.run_cell("x = mt.ones([1024, 1024])", store_history=True)
    shell.run_cell("y = x + 1.0; del x", store_history=True)
    shell.run_cell("1 / 0", store_history=True)
    shell.run_cell("del y", store_history=True)
    changes = [cell["change"] for cell in shown.data["cells"]]
    assert changes[-4:] == [4 << 20, 0, 0, -4 << 20]
    assert shown.data["now"] == {"allocated": 0, "reserved": 20 << 20, "peak": 8 << 20}
    assert shown.data["say"] == (
        f"Cell {shown.data['cells'][-1]['label']} frees 4.0 MiB: gpu:sim, a simulated GPU, holds 0 B, 20.0 MiB are "
        f"reserved and 44.0 MiB are left."
    )
    schema = Path(meter.__file__).with_name("meter.schema.json").read_text(encoding="utf-8")
    jsonschema.validate(shown.data, json.loads(schema))


def test_the_widget_is_updated_until_another_meter_is_shown(shell):
    pytest.importorskip("anywidget")
    shell.run_cell("from book_kit import meter\nimport minitensor as mt\nfirst = meter.show()")
    first = shell.user_ns["first"]
    bundle = first._repr_mimebundle_()
    assert any(
        "application/vnd.jupyter.widget-view+json" in part for part in (bundle if type(bundle) is tuple else [bundle])
    )
    shell.run_cell("x = mt.ones([512, 512])")
    assert first._widget.data["cells"][-1]["change"] == 1 << 20
    shell.run_cell("second = meter.show('cpu')")
    reported = first.data
    shell.run_cell("y = mt.ones([512, 512])")
    assert first.data is reported and shell.user_ns["second"].data["device"] == "cpu"


def test_on_a_new_device_the_meter_counts_from_zero():
    x = mt.ones([512, 512])
    shown = meter.Meter()
    mt.device.set_device("gpu:sim", capacity="32 MiB")
    y = mt.ones([256, 256])
    shown.note("[1]")
    assert shown.data["cells"][0]["change"] == 256 << 10 and shown.data["capacity"] == 32 << 20
    del x, y


def test_a_meter_shows_only_the_last_cells():
    shown = meter.Meter("cpu")
    for number in range(40):
        shown.note(f"[{number}]")
    assert [cell["label"] for cell in shown.data["cells"]] == [f"[{n}]" for n in range(40 - meter.MOST_CELLS, 40)]
    assert "does not change the bytes: cpu holds" in shown.data["say"]


def test_the_meter_is_static_in_the_book(monkeypatch):
    monkeypatch.setenv("MINITENSOR_BOOK", "1")
    page = meter.Meter()._repr_mimebundle_()["text/html"]
    assert page.startswith("<memory-figure") and "<svg" in page and "64.0 MiB" in page


def test_a_device_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="there is no device 'tpu'"):
        meter.show("tpu")


def test_reserved_and_released_segments_are_reported_and_drawn():
    shown, said = meter.Meter(), []
    x, y = mt.ones([1024, 1024]), mt.ones([5120, 1024])
    for label in ("x and y made", "del y", "empty_cache"):
        if label == "del y":
            del y
        if label == "empty_cache":
            mt.device.cuda.empty_cache()
        shown.note(label)
        said.append(shown.data["say"].partition(":")[0])
    assert said == [
        "“x and y made” takes 24.0 MiB, and the allocator takes 40.0 MiB from the device",
        "“del y” frees 20.0 MiB",
        "“empty_cache” does not change the allocated bytes, and the allocator returns 20.0 MiB to the device",
    ]
    boxes = [mark for mark in drawing.marks(element.picture(shown.data)) if mark.kind == "rect" and 0 < mark.h <= 44]
    base = max(box.y + box.h for box in boxes)
    heights = [box.h / 44 for box in boxes if box.y + box.h == base]
    # the reserved and the allocated bytes of each reading
    assert heights == pytest.approx([1, 24 / 40, 1, 4 / 40, 20 / 40, 4 / 40], abs=0.02)
    del x
