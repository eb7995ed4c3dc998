"""Test the benchmark that removes lines of the engine to measure their cost: the lines exist, and the engine runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.memory_costs import engines

pytestmark = pytest.mark.cpu_only

PROGRAM = """
import minitensor as mt
x = mt.ones([3]); x.add_(x); y = (x + 1.0).reshape([1, 3])
print(y.tolist(), mt.device.cpu.memory_allocated() > 0)
"""


def test_all_engines_compute_the_same_and_the_bare_one_counts_no_bytes(tmp_path: Path):
    printed = {
        name: subprocess.run(
            [sys.executable, "-c", PROGRAM], cwd=folder, capture_output=True, text=True, timeout=300
        ).stdout.strip()
        for name, folder in engines(tmp_path, None).items()
    }
    assert printed == {
        "with": "[[3.0, 3.0, 3.0]] True",
        "no devices": "[[3.0, 3.0, 3.0]] True",
        "bare": "[[3.0, 3.0, 3.0]] False",
    }
