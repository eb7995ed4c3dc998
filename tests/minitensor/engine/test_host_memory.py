"""Test that the counters of the host agree with the memory of the process, and that a long training does not leak.

Each program runs in a new process (``tests/support/engine/experiments.py``). minitensor's counters include tensors and
the large buffers that are kept for reuse. tracemalloc and the system also count all other memory, which is little.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.engine.experiments import PROGRAMS

pytestmark = pytest.mark.cpu_only

MIB = 1 << 20

#: With these settings, the C library returns every large block to the system at once, the system uses small pages, and
#: BLAS has the buffers of one thread.
FIXED = {
    "MALLOC_MMAP_THRESHOLD_": "131072",
    "MALLOC_TRIM_THRESHOLD_": "131072",
    "NUMPY_MADVISE_HUGEPAGE": "0",
    "OPENBLAS_NUM_THREADS": "1",
}


@functools.cache
def printed(*arguments: str) -> list[list]:
    """Return the output of the program in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.engine.experiments", *arguments],
        cwd=Path(__file__).parents[3],
        env={**os.environ, **FIXED},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def expect_close(ours: int, theirs: int, most: int, what: str) -> None:
    """Assert that the counts differ by at most 2 % of ``ours`` or, if ``ours`` is below 1 MiB, of the peak ``most``."""
    assert abs(theirs - ours) <= 0.02 * (ours if ours > MIB else most), f"{what}: {ours} counted, {theirs} used"


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_counters_agree_with_tracemalloc(program: str):
    moments = printed(program)
    most = max(ours for _, _, ours, *_ in moments)
    assert most > 20 * MIB
    for moment, _, ours, traced, _ in moments:
        expect_close(ours, traced, most, moment)


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is read from /proc, which only Linux has")
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_counters_agree_with_the_memory_of_the_process(program: str):
    moments = printed(program)
    most = max(ours for _, _, ours, *_ in moments)
    for moment, _, ours, _, rss in moments:
        expect_close(ours, rss, most, moment)


def test_the_counters_show_the_numbers_of_bytes_from_the_paddle_articles():
    """float32 tensors of the shapes [10000, 10000] and [1, 64, 512, 512] have 400,000,000 and 67,108,864 bytes."""
    reported = {moment: ours for moment, ours, *_ in printed("relu") + printed("block")}
    assert reported["y = relu(x)"] - 400_000_000 == reported["relu_(x)"] == 400_000_000
    assert (reported["h = relu(h)"], reported["the same in place"]) == (134_217_728, 67_108_864)


@pytest.mark.parametrize("place", ["cpu", "gpu:sim"])
def test_memory_does_not_grow_over_a_thousand_steps_without_the_garbage_collector(place: str):
    steps = printed("steps", place)
    assert [step for step, *_ in steps] == [1, 10, 100, 500, 1000]
    assert len({allocated for _, allocated, _ in steps}) == 1
    processes = {step: rss for step, _, rss in steps}
    # The bound has room for the write log, which grows up to its limit. A leak of 300 bytes a step exceeds the bound.
    assert processes[1000] - processes[100] < MIB // 4
