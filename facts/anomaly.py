"""Record in anomaly.json what the libraries print about an overwritten saved tensor, and the cost of anomaly mode.

    python facts/anomaly.py torch      in an environment that has torch
    python facts/anomaly.py paddle

Each answer has the error and the warnings of PyTorch, with the lines of the program that they quote, or the line that
Paddle logs. The entry "a training step" has the milliseconds of a step without and with PyTorch's anomaly mode, each
the shortest of many runs.
"""

from __future__ import annotations

import importlib
import json
import linecache
import os
import platform
import re
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import recording
from speed_causes import processor

FILE = Path(__file__).with_name("anomaly.json")
STEPS = 400
SETTINGS: dict[str, dict[str, bool]] = {
    "without": {"mode": False},
    "with": {"mode": True},
    "with, check_nan=False": {"mode": True, "check_nan": False},
}

LEAF = "w = torch.tensor([1.0, 4.0], requires_grad=True)\n"
SINE = f"{LEAF}h = w * 1.0\ny = h.sin()\n"
BACKWARD = "y.sum().backward()\n"
NAN = f"{LEAF}y = ((w - 1.0).sqrt() * 0.0).sum()\ny.backward()\n"


def in_anomaly_mode(program: str, arguments: str = "True") -> str:
    """Return the program with anomaly mode around it."""
    return f"with torch.autograd.set_detect_anomaly({arguments}):\n" + textwrap.indent(program, "    ")


PROGRAMS = {
    "an operand, overwritten in place": f"{SINE}h.zero_()\n{BACKWARD}",
    "an operand, overwritten three times": f"{SINE}h.mul_(2.0)\nh.zero_()\nh.add_(1.0)\n{BACKWARD}",
    "an operand, overwritten under no_grad": f"{SINE}with torch.no_grad():\n    h.zero_()\n{BACKWARD}",
    "an operand, overwritten through detach": f"{SINE}h.detach().zero_()\n{BACKWARD}",
    "an operand, overwritten through a slice": f"{SINE}h[0:1].zero_()\n{BACKWARD}",
    "a result, overwritten in place": f"{LEAF}y = w.exp()\ny.zero_()\n{BACKWARD}",
    "a leaf, overwritten under no_grad": f"{LEAF}y = w.sin()\nwith torch.no_grad():\n    w.zero_()\n{BACKWARD}",
    "anomaly mode around all": in_anomaly_mode(f"{SINE}h.zero_()\n{BACKWARD}"),
    "anomaly mode around forward": in_anomaly_mode(f"{SINE}h.zero_()\n") + BACKWARD,
    "anomaly mode around backward": f"{SINE}h.zero_()\n" + in_anomaly_mode(BACKWARD),
    "a gradient of nan": NAN,
    "a gradient of nan, anomaly mode around all": in_anomaly_mode(NAN),
    "a gradient of nan, anomaly mode without check_nan": in_anomaly_mode(NAN, "True, check_nan=False"),
}
PADDLES = {
    "an operand, overwritten in place": (
        "w = paddle.to_tensor([1.0, 4.0], stop_gradient=False)\nh = w * 1.0\ny = h.sin()\nh.zero_()\n" + BACKWARD
    )
}
QUESTIONS: recording.Questions = {
    question: (
        {"torch": program} | ({"paddle": PADDLES[question]} if question in PADDLES else {}),
        ["w.grad.isnan().tolist()"],
    )
    for question, program in PROGRAMS.items()
}
#: Matches the line of the program that a warning quotes.
QUOTED = re.compile(rf"\"{re.escape(recording.PROGRAM)}\", line (\d+), in <module>\n +(.+)")
#: Matches the line that Paddle logs, without the time and the place in Paddle's source.
LOGGED = re.compile(r"While running Node [^\n]*")


def ask(library: str, program: str, expressions: list[str]) -> dict[str, Any]:
    """Register the text of a program for tracebacks, and run it. Return the printed text and the values."""
    lines = program.splitlines(keepends=True)
    linecache.cache[recording.PROGRAM] = (len(program), None, lines, recording.PROGRAM)
    printed, logged = logging(lambda: recording.printed(program, {library: importlib.import_module(library)}))
    if "error" in printed:
        printed["error"] = printed["error"].splitlines()[0]
    values = {} if "error" in printed else recording.ask(library, program, expressions)["values"]
    if quoted := QUOTED.search("\n".join(printed.get("warnings", []))):
        values["the line quoted"] = f"line {quoted[1]}: {quoted[2]}"
    found = LOGGED.search(logged)
    return {"program": program, **printed, **({"log": found[0]} if found else {}), "values": values}


def logging(run: Callable[[], dict[str, Any]]) -> tuple[dict[str, Any], str]:
    """Return the result of `run`, and the text that the process, including C++, wrote to its standard error."""
    kept = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            result = run()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        file.seek(0)
        return result, file.read().decode(errors="replace")


def milliseconds_of_a_step() -> dict[str, float]:
    """Return the time of a training step with each setting: the shortest of many alternating runs on one thread."""
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(1)
    layers = [torch.nn.Linear(256, 256), torch.nn.ReLU()] * 4
    network, batch = torch.nn.Sequential(*layers), torch.randn(64, 256)
    shortest = dict.fromkeys(SETTINGS, float("inf"))
    for _ in range(STEPS):
        for name, setting in SETTINGS.items():
            with torch.autograd.set_detect_anomaly(**setting):
                begin = time.perf_counter()
                network(batch).square().mean().backward()
                shortest[name] = min(shortest[name], 1000 * (time.perf_counter() - begin))
    return {name: round(time_of_one, 3) for name, time_of_one in shortest.items()}


if __name__ == "__main__":
    recording.write(FILE, QUESTIONS, ask)
    if sys.argv[1] == "torch":
        record = json.loads(FILE.read_text(encoding="utf-8"))
        record["a training step"] = {
            "network": "4 linear layers of 256 x 256 and ReLUs, 64 rows",
            "machine": {"processor": processor(), "cores": os.cpu_count(), "system": platform.platform()},
            "milliseconds": milliseconds_of_a_step(),
        }
        FILE.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
