"""Test views that read the bytes of a tensor as another dtype: recorded layouts, shared memory, saved tensors."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any

import numpy as np
import pytest

import minitensor as mt
from minitensor import torch
from tools.build import ROOT

pytest.importorskip("ml_dtypes")

RECORDS = json.loads((ROOT / "facts" / "dtypes.json").read_text(encoding="utf-8"))
NAMES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
PAIRS, LAYOUTS = "the bytes of a tensor as another dtype", "the bytes of layouts as another dtype"


def recorded(version: str, question: str) -> Any:
    return RECORDS[version]["answers"][question]["values"]["found"]


def seen_in_torch(x: Any, dtype: str) -> str:
    try:
        v = x.view(getattr(torch, dtype))
    except RuntimeError:
        return "refused"
    values = [float(n) for n in v.double().reshape(-1).tolist()]
    return f"shape {list(v.shape)}, strides {list(v.stride())}, values {values}"


def seen_in_paddle(x: Any, dtype: str) -> str:
    try:
        v = x.view(dtype)
    except ValueError:
        return "refused"
    values = [float(n) for n in v.astype("float32").reshape([-1]).tolist()]
    return f"shape {v.shape}, strides {v.strides}, values {values}"


@pytest.mark.cpu_only
@pytest.mark.parametrize("before", NAMES)
def test_a_tensor_of_any_dtype_viewed_as_any_other_has_the_values_of_the_frameworks(before: str):
    values = [[0, 1, 2, 3], [4, 5, 6, 7]]
    ours = torch.tensor(values).to(getattr(torch, before)), mt.to_tensor(values).astype(before)
    for after in NAMES:
        if after == "bool" != before:
            for x, dtype in zip(ours, (torch.bool, "bool"), strict=True):
                with pytest.raises(TypeError, match="cannot be read as bool, because a byte may hold"):
                    x.view(dtype)
            continue
        assert seen_in_torch(ours[0], after) == recorded("torch 2.13.0", PAIRS)[before][after]
        assert seen_in_paddle(ours[1], after) == recorded("paddle 3.3.1", PAIRS)[before][after]


def test_paddle_2_6_was_recorded_to_crash_if_the_new_dtype_is_wider():
    found = recorded("paddle 2.6.2", PAIRS)
    died = {(a, b) for a, row in found.items() for b, answer in row.items() if answer == "the process died of SIGFPE"}
    size = {name: mt.zeros([1], name).element_size() for name in NAMES}
    assert died == {(a, b) for a in NAMES for b in NAMES if size[b] > size[a]}
    for a, b in ((a, b) for a in NAMES for b in NAMES if (a, b) not in died and b != "bool"):
        assert found[a][b] == recorded("paddle 3.3.1", PAIRS)[a][b]


def layouts(x: Any, ones: Any, transposed: Any) -> dict[str, Any]:
    return {
        "transposed": transposed,
        "columns 1 and 2": x[:, :, 1:3],
        "columns 0 and 1": x[:, :, :2],
        "columns from 1": x[:, :, 1:],
        "every second column": x[:, :, ::2],
        "a block": x[1:, 1:],
        "no dimensions": x[0, 0, 0],
        "no rows": ones(0, 4),
        "no columns": ones(4, 0),
        "one column": ones(2, 1),
        "an odd length": ones(3),
    }


@pytest.mark.cpu_only
def test_a_view_of_any_layout_has_the_values_of_pytorch_or_is_refused_as_in_pytorch():
    x = torch.arange(24, dtype=torch.float32).reshape(2, 3, 4)
    found = {
        name: {dtype: seen_in_torch(each, dtype) for dtype in ("uint8", "float16", "int32", "float64")}
        for name, each in layouts(x, torch.ones, x.permute(2, 1, 0)).items()
    }
    for dtype in ("uint8", "float16"):  # a dimension of empty rows may have any stride, and PyTorch's differs from ours
        found["no columns"][dtype] = found["no columns"][dtype].replace(
            "strides [1, 1]", f"strides [{4 // torch.zeros(1).view(getattr(torch, dtype)).element_size()}, 1]"
        )
    assert found == recorded("torch 2.13.0", LAYOUTS)


@pytest.mark.cpu_only
def test_a_view_of_any_layout_agrees_with_paddle_except_for_paddles_bugs():
    """Two bugs are not compared: Paddle scales the offset of a view twice, and refuses tensors without elements."""
    x = mt.arange(24, dtype="float32").reshape([2, 3, 4])
    given = layouts(x, lambda *shape: mt.ones(list(shape)), x.transpose([2, 1, 0]))
    for name, answers in recorded("paddle 3.3.1", LAYOUTS).items():
        for dtype, answer in answers.items():
            if name in ("no rows", "no columns") or (given[name].offset and dtype != "int32"):
                continue
            assert seen_in_paddle(given[name], dtype) == answer, (name, dtype)


@pytest.mark.parametrize(
    ("make", "dtype", "words"),
    [
        (lambda: mt.ones([3]), "float64", "float32 has 4 bytes and float64 has 8, so size(-1) must be divisible by 2"),
        (lambda: mt.ones([2, 4]).t(), "float16", "so stride(-1) must be 1, not 4"),
        (lambda: mt.ones([5])[1:], "float64", "so storage_offset() must be divisible by 2, not 1"),
        (lambda: mt.ones([3, 3])[:, :2], "float64", "so stride(0) must be divisible by 2, not 3"),
        (lambda: mt.to_tensor(1.0), "float16", "a tensor without dimensions cannot be read as float16"),
    ],
    ids=["length", "last stride", "offset", "stride of a row", "no dimensions"],
)
def test_the_error_says_which_part_of_the_layout_prevents_the_view(make: Any, dtype: str, words: str):
    with pytest.raises(ValueError) as raised:
        make().view(dtype)
    assert words in str(raised.value)


def test_view_accepts_a_shape_or_a_dtype_and_no_mixture():
    x = torch.ones(2, 2)
    assert x.view(float).dtype == torch.float64 and x.view(4).shape == (4,)
    for given in ((torch.int32, 2), (2, torch.int32), ("int32",), ([torch.int32],), (None,), ()):
        with pytest.raises(TypeError):
            x.view(*given)
    with pytest.raises(TypeError, match="dtype 'complex64' is not supported"):
        mt.ones([2]).view("complex64")
    assert mt.ones([2, 2]).view([4]).shape == mt.ones([2, 2]).view(4).shape == [4]


# ---------- shared storage ----------


def test_a_view_as_another_dtype_shares_storage_and_version():
    x = mt.to_tensor([1.0, 2.0])
    before = mt.device.cpu.memory_allocated() if x.place == "cpu" else None
    bits = x.view("int32")
    assert bits.data_ptr() == x.data_ptr() and bits._storage is x._storage and bits.stop_gradient
    bits.bitwise_or_(mt.to_tensor([-(2**31)] * 2, "int32"))
    assert x.tolist() == [-1.0, -2.0] and x.inplace_version == bits.inplace_version == 1
    if before is not None:
        assert mt.device.cpu.memory_allocated() == before
    assert x.view("float32") is x
    assert x.view("uint8")[4:].offset == 4 and x.view("uint8")[4:].view("float32").tolist() == [-2.0]


def test_a_leaf_can_be_written_through_a_view_as_another_dtype():
    for x in (mt.to_tensor([1.0, 2.0], stop_gradient=False), torch.tensor([1.0, 2.0], requires_grad=True)):
        bits = x.view("int32" if type(x) is mt.Tensor else torch.int32)
        assert bits.is_leaf and bits.stop_gradient
        bits.zero_()
        assert x.tolist() == [0.0, 0.0] and x._storage.version == 1 and not x.stop_gradient


def test_a_write_through_a_view_as_another_dtype_makes_a_saved_tensor_stale():
    w = mt.to_tensor([1.0, 2.0, 3.0, 4.0], stop_gradient=False)
    y = w * 1.0
    loss = (y[:2] * y[:2]).sum()
    y.view("float16")[4:] = 7.0  # the bytes of the last two elements
    with pytest.raises(RuntimeError, match="tensor_version:1 != wrapper_version_snapshot:0"):
        loss.backward()


DTYPES = ["uint8", "int16", "float16", "bfloat16", "int32", "float32", "float64", "int64"]


@pytest.mark.parametrize("seed", range(60))
def test_copy_on_write_preserves_bytes_that_are_written_as_another_dtype(seed: int):
    """After writes through views of other dtypes, backward of earlier products still uses the saved numbers."""
    rng = Random(f"bytes/{seed}")
    with mt.set_inplace_policy("copy_on_write"):
        memory = mt.to_tensor(np.arange(8, dtype=np.float64) + 1)
        writers = [memory.view(dtype) for dtype in DTYPES]
        pending = []
        for _ in range(rng.randint(4, 60)):
            if rng.random() < 0.5:
                shown = rng.choice([each for each in writers if each.dtype.name.startswith(("float", "bfloat"))])
                begin = rng.randrange(shown.shape[0])
                part = shown[begin : rng.randint(begin + 1, shown.shape[0]) : rng.choice((1, 2))]
                weight = mt.ones(part.shape, part.dtype)
                weight.stop_gradient = False
                pending.append((weight, weight * part, part.clone()))
            else:
                shown = rng.choice(writers)
                begin = rng.randrange(shown.shape[0])
                where = slice(begin, rng.randint(begin + 1, shown.shape[0]), rng.choice((1, 1, 3)))
                value = rng.randrange(1, 50)
                if rng.random() < 0.3:
                    shown[mt.to_tensor([begin])] = value
                else:
                    shown[where] = value
        for weight, product, wanted in pending:
            product.backward(mt.ones(product.shape, product.dtype))
            assert weight.grad.numpy().tobytes() == wanted.numpy().tobytes()


def test_an_operand_that_shares_bytes_with_the_target_is_read_before_the_write():
    for policy in ("2.6", "copy_on_write"):
        with mt.set_inplace_policy(policy):
            x = mt.to_tensor([1.5, 2.5], stop_gradient=False)
            y = x * 1.0
            bits = y.view("int32")
            wanted = (y.numpy() * bits.numpy()).tolist()
            y.multiply_(bits)
            assert y.tolist() == wanted
            y.sum().backward()
            assert x.grad.tolist() == mt.to_tensor([1.5, 2.5]).view("int32").astype("float32").tolist()


@pytest.mark.cpu_only
def test_copies_files_and_exports_of_a_view_as_another_dtype_have_the_numbers_of_the_view(tmp_path):
    x = torch.tensor([1.0, 2.0, 3.0])
    bits = x.view(torch.uint8)[4:8]
    for made in (copy.deepcopy(bits), copy.deepcopy(x.view(torch.int16))[2:4].view(torch.uint8)):
        assert made.tolist() == bits.tolist() and made.data_ptr() != bits.data_ptr()
    both = copy.deepcopy([x, x.view(torch.int32)])
    both[1].zero_()
    assert both[0].tolist() == [0.0] * 3 and x.tolist() == [1.0, 2.0, 3.0]
    torch.save({"x": x, "bits": x.view(torch.int16)}, tmp_path / "file")
    loaded = torch.load(tmp_path / "file")
    assert loaded["bits"].tolist() == x.view(torch.int16).tolist() and loaded["x"].tolist() == [1.0, 2.0, 3.0]
    assert np.from_dlpack(x.view(torch.int32)).tolist() == x.view(torch.int32).tolist()
    assert x.view(torch.int32).numpy().base is not None
