"""Measure peak bytes and times of minitensor, CuPy and PyTorch on a CUDA device: ``python -m benchmarks.gpu``.

The figures are written to ``facts/gpu.json``, with the card, its driver, the versions, the command and the date. If
there is no CUDA device, nothing is written. minitensor needs CuPy on such a device, so CuPy is always measured; PyTorch
is measured if it is installed with CUDA.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import importlib.util
import itertools
import json
import platform
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import minitensor as mt
from minitensor.engine.device.places import current

RESULT = Path(__file__).parents[1] / "facts/gpu.json"

#: The number of bursts of a case, and of repetitions in a burst. The result is the median of the bursts.
BURSTS, TIMES = 7, 20

#: The side of a square float32 matrix of 64 MiB.
SIDE = 4096

#: The shapes of the tensors whose ReLU two articles measure: Paddle's community guide, and the article on PyTorch.
FEATURES, MATRIX = [1, 64, 512, 512], [10_000, 10_000]

#: The network of the training step: the number of rows of a batch, then the widths of the network's layers.
BATCH, WIDTHS = 512, (1024, 2048, 2048, 10)


class Library:
    """Functions of a library that wait for the device, return the bytes in use, reset their peak, and return it."""

    def __init__(self, wait: Callable[[], Any], used: Callable[[], int], reset: Callable[[], Any], peak: Any) -> None:
        self.wait, self.used, self.reset, self.peak = wait, used, reset, peak


def measure(library: Library, work: Callable[[], Any]) -> dict[str, Any]:
    """Return the seconds of ``work``, and its peak bytes and kept bytes beyond the bytes in use before its call."""
    for _ in range(3):  # the first calls compile kernels and fill the allocator's cache
        work()
    library.wait()
    library.reset()
    before = library.used()
    work()
    library.wait()
    peak, after = library.peak() - before, library.used() - before
    seconds = []
    for _ in range(BURSTS):
        start = time.perf_counter()
        for _ in range(TIMES):
            work()
        library.wait()
        seconds.append((time.perf_counter() - start) / TIMES)
    return {
        "peak_extra_bytes": peak,
        "bytes_kept": after,
        "seconds": statistics.median(seconds),
        "seconds_lowest_and_highest": [min(seconds), max(seconds)],
    }


def minitensor_cases() -> tuple[Library, dict[str, Callable[[], Any]]]:
    cuda = mt.device.cuda
    library = Library(
        cuda.synchronize, cuda.memory_allocated, cuda.reset_max_memory_allocated, cuda.max_memory_allocated
    )
    relu, relu_ = mt.nn.functional.relu, mt.nn.functional.relu_
    x, y = mt.rand([SIDE, SIDE]), mt.rand([SIDE, SIDE])
    features, matrix = mt.rand(FEATURES), mt.rand(MATRIX)
    batch, wanted = mt.rand([BATCH, WIDTHS[0]]), mt.rand([BATCH, WIDTHS[-1]])
    weights = [mt.rand([a, b]) * (1 / a) for a, b in itertools.pairwise(WIDTHS)]
    for weight in weights:
        weight.stop_gradient = False

    def step() -> None:
        out = batch
        for weight in weights[:-1]:
            out = relu(out @ weight)
        error = out @ weights[-1] - wanted
        (error * error).mean().backward()
        with mt.no_grad():
            for weight in weights:
                weight.subtract_(weight.grad * 0.01)
                weight.clear_gradient(set_to_zero=False)

    return library, {
        "add": lambda: x + y,
        "add_": lambda: x.add_(y),
        "relu": lambda: relu(x),
        "relu_": lambda: relu_(x),
        "relu of 1x64x512x512": lambda: relu(features),
        "relu_ of 1x64x512x512": lambda: relu_(features),
        "relu of 10000x10000": lambda: relu(matrix),
        "relu_ of 10000x10000": lambda: relu_(matrix),
        "training step": step,
    }


def cupy_cases() -> tuple[Library, dict[str, Callable[[], Any]]]:
    import cupy

    cuda = mt.device.cuda  # this module counts the bytes of CuPy's pool, which minitensor and CuPy share
    library = Library(
        cuda.synchronize, cuda.memory_allocated, cuda.reset_max_memory_allocated, cuda.max_memory_allocated
    )
    random = cupy.random.default_rng(0)
    x, y, features, matrix = (random.random(s, cupy.float32) for s in ([SIDE] * 2, [SIDE] * 2, FEATURES, MATRIX))
    batch, wanted = (random.random([BATCH, n], cupy.float32) for n in (WIDTHS[0], WIDTHS[-1]))
    shapes = list(itertools.pairwise(WIDTHS))
    weights = [random.random(shape, cupy.float32) * cupy.float32(1 / shape[0]) for shape in shapes]

    def step() -> None:
        inputs = [batch]
        for weight in weights[:-1]:
            inputs.append(cupy.maximum(inputs[-1] @ weight, 0))
        error = inputs[-1] @ weights[-1] - wanted
        (error * error).mean()
        g = error * cupy.float32(2 / error.size)
        gradients = []
        for k in reversed(range(len(weights))):
            gradients.append(inputs[k].T @ g)
            if k:
                g = (g @ weights[k].T) * (inputs[k] > 0)
            del inputs[k]
        for weight, gradient in zip(weights, reversed(gradients), strict=True):
            cupy.subtract(weight, gradient * cupy.float32(0.01), out=weight)

    return library, {
        "add": lambda: x + y,
        "add_": lambda: cupy.add(x, y, out=x),
        "relu": lambda: cupy.maximum(x, 0),
        "relu_": lambda: cupy.maximum(x, 0, out=x),
        "relu of 1x64x512x512": lambda: cupy.maximum(features, 0),
        "relu_ of 1x64x512x512": lambda: cupy.maximum(features, 0, out=features),
        "relu of 10000x10000": lambda: cupy.maximum(matrix, 0),
        "relu_ of 10000x10000": lambda: cupy.maximum(matrix, 0, out=matrix),
        "training step": step,
    }


def torch_cases() -> tuple[Library, dict[str, Callable[[], Any]]]:
    import torch

    cuda = torch.cuda
    library = Library(cuda.synchronize, cuda.memory_allocated, cuda.reset_peak_memory_stats, cuda.max_memory_allocated)
    torch.set_default_device("cuda")
    x, y, features, matrix = torch.rand(SIDE, SIDE), torch.rand(SIDE, SIDE), torch.rand(FEATURES), torch.rand(MATRIX)
    batch, wanted = torch.rand(BATCH, WIDTHS[0]), torch.rand(BATCH, WIDTHS[-1])
    weights = [(torch.rand(a, b) / a).requires_grad_() for a, b in itertools.pairwise(WIDTHS)]

    def step() -> None:
        out = batch
        for weight in weights[:-1]:
            out = torch.relu(out @ weight)
        error = out @ weights[-1] - wanted
        (error * error).mean().backward()
        with torch.no_grad():
            for weight in weights:
                weight.sub_(weight.grad * 0.01)
                weight.grad = None

    return library, {
        "add": lambda: x + y,
        "add_": lambda: x.add_(y),
        "relu": lambda: torch.relu(x),
        "relu_": lambda: torch.relu_(x),
        "relu of 1x64x512x512": lambda: torch.relu(features),
        "relu_ of 1x64x512x512": lambda: torch.relu_(features),
        "relu of 10000x10000": lambda: torch.relu(matrix),
        "relu_ of 10000x10000": lambda: torch.relu_(matrix),
        "training step": step,
    }


def card() -> dict[str, Any]:
    """Return the name and memory of the device, and the versions of its driver and of CUDA."""
    import cupy

    runtime = cupy.cuda.runtime
    found = {
        "name": runtime.getDeviceProperties(0)["name"].decode(),
        "memory_bytes": runtime.memGetInfo()[1],
        "cuda_driver_version": runtime.driverGetVersion(),
        "cuda_runtime_version": runtime.runtimeGetVersion(),
    }
    if shutil.which("nvidia-smi"):
        asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"]
        found["driver"] = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    return found


def main() -> None:
    """Measure, print and write the fact file."""
    if mt.device.cuda.device_count() == 0:
        sys.exit(f"benchmarks.gpu: there is no CUDA device ({current.no_cuda}), so nothing is measured or written.")
    mt.set_device("gpu")
    libraries = {"minitensor": minitensor_cases, "cupy": cupy_cases}
    if importlib.util.find_spec("torch") is not None:
        import torch

        if torch.cuda.is_available():
            libraries["torch"] = torch_cases
    figures: dict[str, dict[str, Any]] = {}
    for name, cases in libraries.items():
        library, works = cases()
        for case, work in works.items():
            figures.setdefault(case, {})[name] = figure = measure(library, work)
            peak = figure["peak_extra_bytes"]
            print(f"{case:24}{name:12}{figure['seconds'] * 1e6:12.1f} us{peak:14,} bytes at the peak", flush=True)
        del library, works, work
        mt.device.cuda.empty_cache()
    import cupy

    versions = {"cupy": cupy.__version__, "numpy": importlib.metadata.version("numpy")}
    if "torch" in libraries:
        versions["torch"] = importlib.metadata.version("torch")
    record = {
        "date": datetime.date.today().isoformat(),
        "command": "python -m benchmarks.gpu",
        "card": card(),
        "python": platform.python_version(),
        "versions": versions,
        "bursts": BURSTS,
        "times_in_a_burst": TIMES,
        "figures": figures,
    }
    RESULT.write_text(json.dumps(record, indent=1) + "\n")
    print(f"written to {RESULT}")


if __name__ == "__main__":
    main()
