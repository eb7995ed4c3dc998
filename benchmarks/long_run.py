"""Measure the memory that `memory-stage explain` adds to a long training of PyTorch.

``python -m benchmarks.long_run`` trains the same small network twice, each time in a fresh process: first alone, then
watched by `explain`. After every tenth of the iterations it records the resident bytes of the process. It prints the
figures and writes them to ``_build/bench/long_run.json``; with ``--record`` also to ``facts/long-run.json``. It runs
only on Linux.

The training writes in place in several lines, allocates storages in each iteration, and clips its gradients, so that
all logs of `explain` grow.
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from benchmarks import peers
from benchmarks.report import machine

ROOT = Path(__file__).parents[1]
RESULT, RECORD = ROOT / "_build" / "bench" / "long_run.json", ROOT / "facts" / "long-run.json"
ITERATIONS = 100_000

#: The most memory that watching may add over the whole run, as a share of the unwatched process's memory and in bytes.
MOST_SHARE, MOST_BYTES = 0.05, 100_000_000


def train(iterations: int, at: Callable[[int], None]) -> None:
    """Train a small network.

    Args:
        iterations: the number of iterations.
        at: called after each iteration with its number.
    """
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(inplace=True), torch.nn.Linear(16, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    state = torch.zeros(4, 8)
    for iteration in range(1, iterations + 1):
        x = torch.randn(4, 8)
        state.mul_(0.9).add_(x)
        x.mul_(state)
        loss = net(x).square().mean()
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        at(iteration)


def resident() -> int:
    """Return the resident bytes of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def measure(iterations: int, is_watched: bool) -> dict[str, Any]:
    """Train in this process. Return the resident bytes at each tenth of the iterations, the processor seconds, the
    number of faults that `explain` found, and the version of PyTorch.
    """
    import torch

    from memory_stage.explanation.whole_run.explanation import watching

    found: list[int] = []
    begun, watch = time.process_time(), watching({}, __file__)
    with watch if is_watched else nullcontext():
        train(iterations, lambda n: None if n % (iterations // 10) else found.append(resident()))
    return {
        "resident": found,
        "seconds": round(time.process_time() - begun, 1),
        "faults": len(watch.faults),
        "version": torch.__version__,
    }


def compare(iterations: int) -> dict[str, Any]:
    """Run both trainings in fresh processes of an environment that has torch. Return their results."""
    libraries = peers.installed()
    if "torch" not in libraries:
        raise SystemExit("the training needs torch: MINITENSOR_TORCH_PYTHON=/somewhere/bin/python")
    python = libraries["torch"].python
    runs: dict[str, Any] = {}
    for way in ("alone", "watched"):
        command = [python, "-m", "benchmarks.long_run", "--in-process", way, "--iterations", str(iterations)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        runs[way] = json.loads(done.stdout)
    added = runs["watched"]["resident"][-1] - runs["alone"]["resident"][-1]
    growth = {way: each["resident"][-1] - each["resident"][0] for way, each in runs.items()}
    return {
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "python": platform.python_version(),
        "iterations": iterations,
        **runs,
        "added bytes": added,
        "added share": round(added / runs["alone"]["resident"][-1], 4),
        "growth after the first tenth": growth,
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.long_run", description=__doc__.partition("\n")[0])
    parser.add_argument("--iterations", type=int, default=ITERATIONS)
    parser.add_argument("--record", action="store_true", help="also write facts/long-run.json")
    parser.add_argument("--in-process", choices=("alone", "watched"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.in_process:
        print(json.dumps(measure(options.iterations, options.in_process == "watched")))
        return 0
    found = compare(options.iterations)
    text = json.dumps(found, indent=1) + "\n"
    for file in (RESULT, RECORD) if options.record else (RESULT,):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    print(text)
    is_met = found["added share"] <= MOST_SHARE and found["added bytes"] <= MOST_BYTES
    added = f"{found['added bytes'] / 1e6:.1f} MB ({found['added share']:.1%})"
    print(f"watching adds {added}: the target is {'' if is_met else 'not '}met")
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
