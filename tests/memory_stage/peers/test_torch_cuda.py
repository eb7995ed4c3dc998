"""Test recordings of PyTorch programs on a GPU (if there is one), and test that recording never initializes CUDA."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", minversion="2.10", reason="PyTorch 2.10 or later is not installed")

import memory_stage as stage  # noqa: E402
from memory_stage.engines.torch import cuda, memory  # noqa: E402
from memory_stage.trace.validation import problems  # noqa: E402

on_a_card = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device is available")


def recorded(source: str, **names):
    shown = stage.record("import torch\n" + source, names)
    assert list(problems(shown.data)) == [] and shown.data["variants"][0]["truncated"] is None
    assert shown.error is None, shown.error
    return shown.data["variants"][0], names


# ---------- on every machine ----------


def test_a_recording_does_not_initialize_a_gpu(monkeypatch):
    if torch.cuda.is_initialized():
        pytest.skip("an earlier test has already used a GPU")
    monkeypatch.setattr(torch.cuda, "_lazy_init", lambda: pytest.fail("the recorder initialized CUDA"))
    variant, _ = recorded("x = torch.ones(2, requires_grad=True)\n(x * x).sum().backward()")
    assert cuda.gpus() == [] and not cuda.is_capturing() and not torch.cuda.is_initialized()
    assert "reserved" not in variant["steps"][-1]


def test_the_bytes_of_a_storage_on_a_gpu_are_counted_in_blocks_of_512():
    assert [cuda.Gpu.counted(nbytes) for nbytes in (0, 1, 512, 513, 4000)] == [0, 512, 512, 1024, 4096]


def test_nothing_is_recorded_or_read_while_a_graph_is_captured(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: torch.cuda.captured)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    monkeypatch.setattr(torch.cuda, "captured", False, raising=False)
    source = "x = torch.ones(2)\ntorch.cuda.captured = True\nx.add_(1)\ntorch.cuda.captured = False\ny = x * 1"
    variant, names = recorded(source)
    assert names["y"].tolist() == [2, 2]
    said = [step["say"] for step in variant["steps"]]
    assert sum(cuda.CAPTURED.text in each for each in said) == 1 and cuda.CAPTURED.text in said[2]
    there = memory.Memory(names["y"])
    there.ref = names["y"].untyped_storage
    monkeypatch.setattr(torch.cuda, "captured", True)
    assert there._numbers_on_gpu(memory.np.array([0, 1])) == ["?", "?"]


# ---------- on a GPU ----------


@on_a_card
def test_the_recorded_bytes_of_a_gpu_equal_torchs_counters():
    torch.ones(1, device="cuda")
    before = torch.cuda.memory_allocated()
    variant, names = recorded("x = torch.ones(1000, device='cuda')\ny = x * 2\nx.add_(1)\ndel y")
    assert torch.cuda.memory_allocated() - before == variant["steps"][-1]["allocated"] == cuda.Gpu.counted(4000)
    assert max(step["allocated"] for step in variant["steps"]) == 2 * cuda.Gpu.counted(4000)
    assert all(step["reserved"] >= step["allocated"] for step in variant["steps"])
    assert names["x"].sum().item() == 2000


@on_a_card
def test_written_numbers_saved_tensors_and_stale_tensors_equal_those_on_the_host():
    source = (
        "w = torch.tensor([1.0, 2.0], device='{0}', requires_grad=True)\nh = w * 1\ny = h * h\nh.mul_(2)\n"
        "try:\n    y.sum().backward()\nexcept RuntimeError:\n    pass\n(w * w).sum().backward()\n"
    )
    here, there = (recorded(source.format(device))[0] for device in ("cpu", "cuda"))
    for one, other in zip(here["steps"], there["steps"], strict=True):
        assert one["line"] == other["line"] and one["phase"] == other["phase"]
        cells = [[e["cells"] for e in step["events"] if e["do"] == "write"] for step in (one, other)]
        assert cells[0] == cells[1]
        kinds = [sorted(e["do"] for e in step["events"] if e["do"] in ("stale", "save")) for step in (one, other)]
        assert kinds[0] == kinds[1]


@on_a_card
def test_a_recorded_program_makes_the_same_requests_to_the_allocator_of_the_gpu():
    source = "x = torch.ones(300, device='cuda', requires_grad=True)\n((x * 2).exp() * x).sum().backward()\ng = x.grad"
    found = []
    for run in (lambda: exec("import torch\n" + source, {}), lambda: recorded(source)):
        run()  # creates the objects that are created only once
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_stats()["allocation.all.allocated"]
        run()
        stats = torch.cuda.memory_stats()
        found.append((stats["allocation.all.allocated"] - before, torch.cuda.max_memory_allocated()))
    assert found[0] == found[1]


@on_a_card
def test_a_graph_can_be_captured_during_a_recording():
    variant, names = recorded(
        "x = torch.ones(4, device='cuda')\ng = torch.cuda.CUDAGraph()\ns = torch.cuda.Stream()\n"
        "with torch.cuda.stream(s):\n    y = x * 2\ntorch.cuda.synchronize()\n"
        "with torch.cuda.graph(g):\n    y = x * 2\nx.fill_(3)\ng.replay()\nn = y.sum().item()"
    )
    assert names["n"] == 24
    assert any(cuda.CAPTURED.text in step["say"] for step in variant["steps"])
