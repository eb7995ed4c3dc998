"""Test that the recorder does not change the results of random PyTorch programs, byte for byte.

    python -m tests.support.peers.undisturbed 300      in an environment with torch

The comparison covers for every name its numbers as bytes, shape, strides, offset, version, flags and gradient; the
complete error that ended the program; its output; and each allocation and release of torch's allocator, in order.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import sys
import time
import warnings
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

import memory_stage as stage
from tests.support.vocabulary.aliases.generator import program

_NAME = "<program>"


def source_of(number: int) -> str:
    """Return a random program up to its first error."""
    return "\n".join(line.text for line in program(number))


def unwatched(source: str, names: dict[str, Any]) -> str:
    """Run the program without a recorder, and return the text of its error."""
    try:
        exec(compile(source, _NAME, "exec"), names)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def watched(source: str, names: dict[str, Any]) -> str:
    """Run the program with a recorder, and return the text of its error."""
    shown = stage.record(source, names)
    variant = shown.data["variants"][0]
    assert variant["truncated"] is None, variant["truncated"]
    return "" if shown.error is None else f"{type(shown.error).__name__}: {shown.error}"


def outcome(run: Any, source: str, allocations: bool) -> dict[str, Any]:
    """Return the results of a run and its requests to torch's allocator."""
    names: dict[str, Any] = {"torch": torch, "__name__": "__main__"}
    printed = io.StringIO()
    torch.manual_seed(7)
    gc.collect()
    torch.ones(1, requires_grad=True).sum().backward()  # torch frees the tensors of a failed backward in the next one
    time.sleep(0.002)
    gc.disable()
    asked: list[int] = []
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(printed):
            warnings.simplefilter("ignore")
            if allocations:
                with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
                    error = run(source, names)
                asked = [e.nbytes() for e in seen.profiler.kineto_results.events() if e.name() == "[memory]"]
            else:
                error = run(source, names)
    finally:
        gc.enable()
    return {"error": error, "printed": printed.getvalue(), "allocator": asked, "names": _ends(names)}


def _ends(names: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for name, x in sorted(names.items()):
        if isinstance(x, torch.Tensor):
            gradient = _gradient(x)
            found[name] = [_look(x), None if gradient is None else _look(gradient)]
    return found


def _gradient(x: torch.Tensor) -> torch.Tensor | None:
    try:
        return x.grad if x.is_leaf else None
    except RuntimeError:
        return None


def _look(x: torch.Tensor) -> list[Any]:
    try:
        flags = [x.requires_grad, x.is_leaf, x.grad_fn is not None and x.grad_fn.name()]
    except RuntimeError as error:
        flags = [str(error)]
    return [
        x.detach().numpy().tobytes().hex(),
        list(x.shape),
        list(x.stride()),
        x.storage_offset(),
        x._version,
        str(x.dtype),
        *flags,
    ]


def differences(source: str, allocations: bool = True) -> list[str]:
    """Return the differences between the runs with and without a recorder."""
    plain, seen = outcome(unwatched, source, allocations), outcome(watched, source, allocations)
    return [what for what in plain if repr(plain[what]) != repr(seen[what])]


if __name__ == "__main__":
    torch.set_num_threads(1)
    count = int(sys.argv[1])
    outcome(unwatched, "x = torch.ones(2)", True)  # a first run, because the profiler allocates memory in it
    found = {number: other for number in range(count) if (other := differences(source_of(number)))}
    print(json.dumps({"torch": torch.__version__, "programs": count, "other when watched": found}, indent=1))
