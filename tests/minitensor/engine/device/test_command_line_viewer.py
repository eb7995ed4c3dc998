"""Test that ``python -m torch.cuda._memory_viz`` reads minitensor's snapshots.

``MINITENSOR_TORCH_PYTHON`` may name a Python that has PyTorch. Without it the tests run in this Python, or are skipped
if it has no PyTorch.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from minitensor.engine.device.allocator import CachingAllocator
from minitensor.engine.device.memory_error import OutOfMemoryError
from minitensor.engine.device.memory_log import MemoryLog
from minitensor.engine.device.snapshot import dump_snapshot
from tests.support.engine.device.logged import random_log, training_step

MIB, GIB = 1 << 20, 1 << 30
SEED = os.environ.get("MINITENSOR_SEED", "in place")


@pytest.fixture(scope="module")
def torch_python() -> str:
    named = os.environ.get("MINITENSOR_TORCH_PYTHON")
    if named:
        return named
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed here (MINITENSOR_TORCH_PYTHON names a Python that has it)")
    return sys.executable


def memory_viz(python: str, *arguments: str, cwd: Path) -> str:
    command = [python, "-m", "torch.cuda._memory_viz", *arguments]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_pytorchs_command_line_reads_a_training_step(torch_python, tmp_path):
    log = MemoryLog(CachingAllocator(GIB, "torch"))
    training_step(log)
    dump_snapshot(tmp_path / "memory.pickle", log.allocator, log.events, log.live)
    stats = memory_viz(torch_python, "stats", "memory.pickle", cwd=tmp_path)
    assert f"segments: {len(log.allocator.segments())}" in stats
    assert f"total_reserved: {log.allocator.reserved / MIB:.1f}MiB" in stats
    assert f"total_allocated: {log.allocator.requested / MIB:.1f}MiB" in stats
    trace = memory_viz(torch_python, "trace", "memory.pickle", cwd=tmp_path)
    # The step reserves four segments: 20 MiB for w, x and w.grad, 2 MiB for small tensors, 12 MiB for h, and 12 MiB for
    # y. It frees the segments of h and y.
    assert trace.count(" = cudaMalloc(") == 4 and trace.count("cudaFree(") == 2
    assert trace.count("# free completed for") == 3 and "[0:11.5MiB]" in trace
    memory_viz(torch_python, "trace_plot", "memory.pickle", "-o", "timeline.html", cwd=tmp_path)
    memory_viz(torch_python, "segment_plot", "memory.pickle", "-o", "segments.html", cwd=tmp_path)
    assert all((tmp_path / page).stat().st_size > 1000 for page in ("timeline.html", "segments.html"))


def test_pytorchs_command_line_reads_a_snapshot_with_an_out_of_memory_error(torch_python, tmp_path):
    for profile in ("torch", "paddle"):
        log = random_log(f"{SEED} command line {profile}", limit=80, profile=profile)
        with pytest.raises(OutOfMemoryError):
            log.allocate(100 * MIB, "big", "matmul", "train.py", 4)
        dump_snapshot(tmp_path / "memory.pickle", log.allocator, log.events, log.live)
        memory_viz(torch_python, "stats", "memory.pickle", cwd=tmp_path)
        trace = memory_viz(torch_python, "trace", "memory.pickle", cwd=tmp_path)
        free = (log.allocator.capacity - log.allocator.reserved) / MIB
        assert f"raise OutOfMemoryError # 100.0MiB requested, {free:.1f}MiB free in CUDA" in trace
