"""Test that the recorder does not change the results of random Paddle programs, byte for byte.

    python -m tests.support.peers.paddle_undisturbed 200 [from]      in an environment with paddle

The comparison covers the texts of all errors, and for every name its bytes, shape, strides, offset, version, flags and
gradient. Each run has a separate process, because some programs crash Paddle 2.6: a mask such as ``x[x > 1] = 0`` on a
tensor without dimensions ends the process, with and without a recorder.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from typing import Any

import paddle

import memory_stage as stage
from tests.support.peers.paddle_programs import NAMES, in_a_child, program

CRASHED = "crashed"

#: Paddle 3.3 reads beyond the shape for ``x[..., 0]`` if ``x`` has no dimensions. The text of the
#: error depends on that memory.
_BEYOND = re.compile(
    r"\(OutOfRange\) The starting index 0 of slice is out of bounds in tensor -1-th axis.*|"
    r"\(InvalidArgument\) Too many indices \(1\) for tensor of dimension 0\..*",
    re.DOTALL,
)


def state(names: dict[str, Any]) -> list[Any]:
    """Return the state of the tensors that a program can observe."""
    found: list[Any] = [[_BEYOND.sub("(no such dimension)", text) for text in names["errors"]]]
    for name in (*NAMES, "x", "y"):
        t = names[name]
        gradient = t.grad
        found.append([
            name, list(t.shape), list(t.strides), str(t.dtype), t.inplace_version, t.stop_gradient, t.is_leaf,
            t.numpy().tobytes().hex(), None if gradient is None else gradient.numpy().tobytes().hex(),
            None if gradient is None else gradient.inplace_version, t.offset,
        ])  # fmt: skip
    return found


def both(seed: int) -> tuple[Any, Any]:
    """Return the results of a random program without and with a recorder."""

    def alone() -> list[Any]:
        names: dict[str, Any] = {"paddle": paddle, "errors": []}
        exec(program(seed), names)
        return state(names)

    def watched() -> list[Any]:
        names: dict[str, Any] = {"paddle": paddle, "errors": []}
        shown = stage.record(program(seed), names)
        assert shown.data["variants"][0]["truncated"] is None
        return state(names)

    return in_a_child(alone), in_a_child(watched)


if __name__ == "__main__":
    count, first = (int(each) for each in (*sys.argv[1:], "0")[:2])
    counts: Counter[str] = Counter()
    other = []
    for seed in range(first, first + count):
        plain, seen = both(seed)
        counts["crash with and without the recorder"] += plain == seen == CRASHED
        counts["record an error"] += isinstance(plain, list) and bool(plain[0])
        other += [] if plain == seen and (plain == CRASHED or isinstance(plain, list)) else [seed]
    print(
        json.dumps({"paddle": paddle.__version__, "programs": count, **counts, "other when watched": other}, indent=1)
    )
