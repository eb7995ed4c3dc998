"""Test that a recording of a program with small dtypes has their labels, numbers and bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitensor as mt
from memory_stage.recorder import record
from memory_stage.trace.validation import problems
from minitensor import torch
from minitensor.engine.device.counters import cpu_meter

#: The bytes of one element of each dtype.
SIZES = {"float16": 2, "bfloat16": 2, "uint8": 1, "int8": 1, "int16": 2, "float32": 4}


def traced(source: str) -> dict[str, Any]:
    done = record.run(source, {"__name__": "__main__", "mt": mt, "torch": torch}, file="<program>")
    whole = {"schema": "stage/1", "title": "A test", "ask": None, "device": "cpu", "compare": None}
    assert list(problems({**whole, "variants": [done.variant]})) == []
    assert done.error is None
    return done.variant


def events(variant: dict[str, Any], do: str) -> list[dict[str, Any]]:
    return [event for step in variant["steps"] for event in step["events"] if event["do"] == do]


@pytest.mark.parametrize("dtype", SIZES)
def test_a_storage_has_the_bytes_and_the_numbers_of_its_dtype(dtype: str):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    variant = traced(f"x = mt.to_tensor([1, 2, 100], '{dtype}')\ny = x[1:]\ny.add_(x[:2])")
    size = SIZES[dtype]
    (storage,) = events(variant, "storage")
    assert (storage["itemsize"], storage["bytes"], storage["dtype"]) == (size, 3 * size, dtype)
    assert storage["values"] == {"0": "1", "1": "2", "2": "100"}
    x, y = events(variant, "tensor")[:2]
    assert x["dtype"] == y["dtype"] == dtype and (y["offset"], y["strides"]) == (1, [1])
    assert events(variant, "write")[0]["cells"] == {"1": "3", "2": "102"}
    assert [step["allocated"] for step in variant["steps"]] == [3 * size] * 3


@pytest.mark.parametrize(("dtype", "tenth", "large"), [("float16", "0.1", "inf"), ("bfloat16", "0.1", "70144")])
def test_backward_in_16_bits_is_recorded_with_its_bytes(dtype: str, tenth: str, large: str):
    pytest.importorskip("ml_dtypes")
    before = cpu_meter.allocated
    variant = traced(
        f"x = mt.to_tensor([0.1, 70000.0], '{dtype}')\nw = mt.ones([2], '{dtype}')\nw.stop_gradient = False\n"
        f"y = w * x\ny.sum().backward()\nz = x.astype('float32')"
    )
    assert cpu_meter.allocated == before
    values = [storage["values"] for storage in events(variant, "storage")]
    assert values[0] == {"0": tenth, "1": large}
    # The storages are those of x, w, y, the sum (which is freed at the end of its line), the gradient, and z.
    assert [storage["bytes"] for storage in events(variant, "storage")] == [4, 4, 4, 2, 4, 8]
    ends = {step["line"]: step["allocated"] for step in variant["steps"]}
    assert ends == {1: 4, 2: 8, 3: 8, 4: 12, 5: 16, 6: 24}
    assert {event["dtype"] for event in events(variant, "tensor")} == {dtype, "float32"}


def test_autocast_makes_one_copy_of_a_parameter_that_two_operations_read():
    pytest.importorskip("ml_dtypes")
    variant = traced(
        "x, w = torch.ones(2, 2), torch.ones(2, 2, requires_grad=True)\n"
        "with torch.autocast('cpu'):\n    a = x @ w\n    b = x @ w\na.sum().backward()"
    )
    halves = [each for each in events(variant, "storage") if each["dtype"] == "bfloat16"]
    sizes = sorted(each["bytes"] for each in halves)
    # These are two copies of x, one of w, two results, and the sum. The gradient of w is float32, so it is not listed.
    assert sizes == [2, 8, 8, 8, 8, 8]


def test_backward_through_a_float16_sum_peaks_at_half_the_bytes_of_float32():
    """At the peak, memory has the gradient of x (1,000 elements) and the gradient of the sum (one element)."""
    peaks = {}
    for dtype in ("float16", "float32"):
        x = mt.ones([1000], dtype)
        x.stop_gradient = False
        total = x.sum()
        cpu_meter.peak = cpu_meter.allocated
        before = cpu_meter.allocated
        total.backward()
        peaks[dtype] = cpu_meter.peak - before
        assert np.array_equal(x.grad.astype("float32").numpy(), np.ones(1000))
        del x, total
    assert peaks["float16"] * 2 == peaks["float32"]


def test_a_write_through_a_view_of_another_dtype_is_recorded_for_the_cells_of_the_storage():
    """A cell is a float32, so a float16 element is half a cell, and a float64 element covers two cells."""
    variant = traced(
        "x = mt.to_tensor([1.0, -2.0, 4.0, 8.0])\nhalves = x.view('float16')\nhalves[3] = 1.0\n"
        "halves[mt.to_tensor([0, 1, 6])] = 0.0\nlast = x.view('uint8')[12:]\nlast[:] = 0\nx.view('float64')[0] = 2.0"
    )
    layouts = [tensor["elements"] for tensor in events(variant, "tensor") if "elements" in tensor]
    assert [(each["shape"], each["offset"], each["itemsize"]) for each in layouts] == [
        *(([8], 0, 2), ([16], 0, 1), ([4], 12, 1), ([2], 0, 8))
    ]
    assert [sorted(map(int, write["cells"])) for write in events(variant, "write")] == [[1], [0, 3], [3], [0, 1]]
    assert events(variant, "write")[0]["cells"] == {"1": "0.00781"}  # -2.0 was 0xc0000000 and is now 0x3c000000
    assert events(variant, "write")[3]["cells"] == {"0": "0", "1": "2"}  # 2.0 in float64 is 0x4000000000000000
    assert [write["version"] for write in events(variant, "write")] == [1, 2, 3, 4]
