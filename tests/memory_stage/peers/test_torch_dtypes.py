"""Test views with another dtype: their cells, their descriptions, and the tensors that a write through them affects."""

from __future__ import annotations

import random

import numpy as np
import pytest

torch = pytest.importorskip("torch", minversion="2.10", reason="PyTorch 2.10 or later is not installed")

import memory_stage as stage  # noqa: E402
from memory_stage.engines.protocol import CellLayout, in_cells, numbers_in_cells  # noqa: E402
from memory_stage.engines.torch.memory import cell_sizes  # noqa: E402
from memory_stage.trace.validation import problems  # noqa: E402


def recorded(source: str):
    shown = stage.record("import torch\n" + source)
    assert list(problems(shown.data)) == [] and shown.data["variants"][0]["truncated"] is None
    return shown.data["variants"][0], shown.error


def events(variant: dict, do: str, line: int) -> list[dict]:
    return [e for step in variant["steps"] if step["line"] == line for e in step["events"] if e["do"] == do]


def sentences_at(variant: dict, line: int) -> str:
    return " ".join(step["say"] for step in variant["steps"] if step["line"] == line)


def cells_by_bytes(layout: CellLayout, size: int, cell: int) -> set[int]:
    """Return the cells that contain the elements, computed byte by byte."""
    shape, strides, offset = layout
    at = offset + sum((np.indices(shape)[d] * strides[d] for d in range(len(shape))), np.zeros(shape, np.int64))
    return {(int(element) * size + byte) // cell for element in np.ravel(at) for byte in range(size)}


def test_the_cells_of_a_layout_are_those_that_contain_its_bytes():
    draw = random.Random(5)
    for _ in range(500):
        size, cell = draw.choice([(1, 8), (2, 4), (4, 8), (4, 1), (8, 4), (16, 2), (8, 8)])
        shape = [draw.randint(1, 4) for _ in range(draw.randint(0, 3))]
        strides = list(np.cumprod([1, *shape[::-1]])[:-1][::-1])
        if draw.random() < 0.5:  # elements with gaps between them, as in a column of a matrix
            strides = [int(stride) * max(1, cell // size) for stride in strides]
        own = CellLayout(shape, [int(stride) for stride in strides], draw.randint(0, 5))
        found = in_cells(own, size, cell)
        assert cells_by_bytes(found, cell, cell) == cells_by_bytes(own, size, cell), (own, size, cell)


def test_the_cells_of_numbered_elements_are_those_that_contain_their_bytes():
    for size, cell in ((1, 8), (8, 1), (4, 8), (8, 4)):
        numbers = np.array([1, 2, 5])
        wanted = {(int(n) * size + byte) // cell for n in numbers for byte in range(size)}
        assert numbers_in_cells(numbers, size, cell).tolist() == sorted(wanted)


def test_a_view_with_another_dtype_is_recorded_on_the_same_storage():
    variant, error = recorded(
        "x = torch.tensor([1.0, 2.0], dtype=torch.float64)\nb = x.view(torch.uint8)\nb[7] = 64\n"
        "i = x.view(torch.int32)\ni[2:] = 0"
    )
    assert error is None
    (bytes_,), (words,) = events(variant, "tensor", 3), events(variant, "tensor", 5)
    assert bytes_["elements"] == {"shape": [16], "strides": [1], "offset": 0, "itemsize": 1}
    assert (bytes_["shape"], bytes_["dtype"], words["elements"]["shape"]) == ([2], "uint8", [4])
    assert bytes_["storage"] == words["storage"] == events(variant, "storage", 2)[0]["id"]
    raised = np.frombuffer(np.float64(1).tobytes()[:7] + bytes([64]), np.float64).item()
    assert [e["cells"] for e in events(variant, "write", 4)] == [{"0": str(int(raised))}]
    assert [e["cells"] for e in events(variant, "write", 6)] == [{"1": "0"}]
    assert sentences_at(variant, 3).startswith(
        "`view` makes a tensor that reads the bytes of storage 1 as uint8, 8 numbers for"
    )
    assert "`x`" in sentences_at(variant, 4) and "`x`" in sentences_at(variant, 6)


def test_an_element_of_a_view_with_a_wider_dtype_covers_several_cells():
    variant, _ = recorded("u = torch.zeros(16, dtype=torch.uint8)\nf = u.view(torch.float32)\nf[1] = 1.5")
    (wide,) = events(variant, "tensor", 3)
    assert (wide["shape"], wide["elements"]["shape"]) == ([4, 4], [4])
    bits = np.float32(1.5).tobytes()
    assert events(variant, "write", 4)[0]["cells"] == {str(4 + n): str(byte) for n, byte in enumerate(bits)}
    assert "as float32, 4 cells for each number" in sentences_at(variant, 3)


def test_a_write_to_the_real_part_makes_a_saved_complex_tensor_stale():
    variant, error = recorded(
        "w = torch.ones(2, 2, requires_grad=True)\nz = torch.view_as_complex(w * 1)\ny = z * z\nz.real.mul_(3)\n"
        "y.abs().sum().backward()"
    )
    assert "modified by an inplace operation" in str(error)
    assert events(variant, "stale", 5) and "`z` at version 0 but finds version 1" in sentences_at(variant, 6)


def test_real_and_imaginary_parts_have_cells_of_one_storage():
    variant, _ = recorded("c = torch.tensor([1 + 2j, 3 + 4j])\nr = torch.view_as_real(c)\nc.imag.mul_(10)\nn = r.sum()")
    assert events(variant, "write", 4)[0]["cells"] == {"0": "1+20j", "1": "3+40j"}
    assert "`c` and `r` see the new numbers." in sentences_at(variant, 4)


def test_a_gradient_through_a_conjugate_is_shown_with_its_numbers():
    variant, error = recorded(
        "c = torch.tensor([1 + 2j], requires_grad=True)\n(c.conj() * (1 + 1j)).abs().sum().backward()"
    )
    assert error is None
    reported = torch.tensor([1 + 2j], requires_grad=True)
    (reported.conj() * (1 + 1j)).abs().sum().backward()
    assert f"{reported.grad.item().real:.3g}" in sentences_at(variant, 3)


def test_a_view_with_another_dtype_has_plain_cells_after_a_call_of_set_():
    variant, error = recorded(
        "x = torch.zeros(2, dtype=torch.float64)\ni = x.view(torch.int32)\ni.set_(torch.ones(3, dtype=torch.int32))"
    )
    assert error is None
    assert [e["elements"] for e in events(variant, "retensor", 4) if "elements" in e] == [None]


def test_the_recorder_keeps_no_cell_sizes_after_a_recording():
    recorded("x = torch.zeros(2, dtype=torch.float64)\ni = x.view(torch.int32)")
    assert cell_sizes == {}


@pytest.mark.parametrize("dtype", ["complex32", "quint8", "float8_e5m2"])
def test_tensors_of_dtypes_that_numpy_cannot_read_are_reported_as_not_recorded(dtype):
    make = "torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8)"
    source = make if dtype == "quint8" else f"torch.zeros(2, dtype=torch.{dtype})"
    variant, error = recorded(f"x = {source}\ny = torch.ones(2)")
    assert error is None and f"Not recorded: a tensor of dtype {dtype}." in sentences_at(variant, 2)
