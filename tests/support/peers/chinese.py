"""Find English phrases in a Chinese stage or report."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import memory_stage as stage
from memory_stage.web import picture
from tools.build import ROOT

_CODE = re.compile(r"`[^`]*`")
_TEXT = re.compile(r"<(?:text|title|tspan)[^>]*>([^<]*)<|aria-label=\"([^\"]*)\"")

#: Two English words in a row. A single word may be the name of an operation.
_WORDS = re.compile(r"[A-Za-z]{2,}(?:[ ,;:]+[a-z]{2,})+")
#: An English word next to Chinese characters. It is sought in sentences, where back quotes mark every name of code.
_WORD = re.compile(r"(?<=[一-鿿，。：；、]) ?[A-Za-z]{2,}(?= ?[一-鿿，。：；、])")
MAY_STAY = {
    "numpy",
    "notebook",
    "minitensor",
    "torch",
    "Paddle",
    "PyTorch",
    "NumPy",
    "TorchScript",
    "checkpoint",
    "meta",
}


def english_in(text: str) -> list[str]:
    """Return the English phrases in a Chinese text, except code."""
    return _WORDS.findall(_CODE.sub("", text))


def sentences_of(shown: stage.Stage) -> Iterator[str]:
    """Yield the sentences of a stage."""
    for variant in shown.data["variants"]:
        yield from (step["say"] for step in variant["steps"])
        yield from (text for text in (variant["verdict"], variant["truncated"]) if text)


def labels_of(shown: stage.Stage) -> Iterator[str]:
    """Yield the labels in a stage's data and all texts in its pictures."""
    data: dict[str, Any] = shown.data
    yield data["title"]
    for number, variant in enumerate(data["variants"]):
        for at, step in enumerate(variant["steps"]):
            for event in step["events"]:
                yield from (event[key] for key in ("label", "holder", "what") if event.get(key))
            for found in _TEXT.finditer(picture.svg(data, number, at)):
                yield unescape(found[1] or found[2] or "")


def english_in_stage(shown: stage.Stage) -> list[str]:
    """Return the English phrases that a Chinese stage shows, except programs, their output and their errors."""
    words = {each for text in (*sentences_of(shown), *labels_of(shown)) for each in english_in(text)}
    words |= {each.strip() for text in sentences_of(shown) for each in _WORD.findall(_CODE.sub("", text))}
    return sorted(words - MAY_STAY)


def run_command(folder: Path, program: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run ``python -m memory_stage`` on a program, which is written into a folder."""
    (folder / "program.py").write_text(program, encoding="utf-8")
    command = [sys.executable, "-m", "memory_stage", *options, "program.py"]
    environment = {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", "GLOG_v": "0"}
    return subprocess.run(command, capture_output=True, encoding="utf-8", cwd=folder, env=environment)
