"""Compare a question bank with the findings of three third-party programs that read QTI 2.1 and Moodle XML.

Pyslet implements QTI 2.1: it reads an item, checks the nesting of its elements, and runs the rules for its score.
onyx2moodle converts QTI 2.1 to Moodle XML, and moodle-xml-parser reads Moodle XML.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tools.build import ROOT
from tools.question_bank import AnswerOption, BankQuestion, ContentBlock

COMMAND = shutil.which("onyx2moodle")
needs_readers = pytest.mark.skipif(COMMAND is None, reason="onyx2moodle is not installed; see tools/peers.py")


def read(bank: Path, work: Path) -> subprocess.CompletedProcess[str]:
    """Run the three programs on a folder with `qti.zip` and `moodle.xml`."""
    assert COMMAND is not None
    python = Path(COMMAND).parent / "python"
    command = [str(python), str(ROOT / "tests" / "support" / "read_questions.py"), str(bank), str(work)]
    path = os.pathsep.join([str(python.parent), os.environ.get("PATH", "")])
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PATH": path})


def differences(bank: Path, work: Path, questions: list[BankQuestion]) -> Iterator[str]:
    """Yield the differences between the questions and the findings of the programs."""
    ran = read(bank, work)
    if ran.returncode:
        yield ran.stderr
        return
    found = json.loads(ran.stdout)
    yield from _of_items(found["pyslet"], questions)
    choices = [each for each in questions if each.options]
    yield from _of_conversion(found["onyx2moodle"], choices, len(questions) - len(choices))
    yield from _of_moodle(found["moodle-xml-parser"], choices)


def _of_items(found: dict[str, Any], questions: list[BankQuestion]) -> Iterator[str]:
    if sorted(found) != sorted(each.key for each in questions):
        yield f"Pyslet has read {len(found)} items of {len(questions)}"
        return
    for question in questions:
        item = found[question.key]
        if not item["is_item"] or item["unknown"] or item["warnings"]:
            yield f"{question.key}: Pyslet has read {item}"
        keys = [f"option{number}" for number in range(len(question.options))]
        scores = {key: [float(option.right), key] for key, option in zip(keys, question.options, strict=True)}
        if item["choices"] != scores:
            yield f"{question.key}: Pyslet scores {item['choices']} instead of {scores}"
        texts = {key: _plain(option.feedback) for key, option in zip(keys, question.options, strict=True)}
        if {key: _squeezed(text) for key, text in item["feedback"].items()} != texts:
            yield f"{question.key}: Pyslet has read the feedback {item['feedback']}"


def _of_conversion(text: str, choices: list[BankQuestion], free: int) -> Iterator[str]:
    converted = list(ET.fromstring(text))
    kinds = Counter(each.get("type") for each in converted)
    if (kinds["multichoice"], kinds["essay"]) != (len(choices), free):
        yield f"onyx2moodle has made {kinds}"
    given = Counter(
        tuple((_text_of(each.findtext("text")), float(each.get("fraction", 0))) for each in question.findall("answer"))
        for question in converted
        if question.get("type") == "multichoice"
    )
    if given != (expected := Counter(tuple(map(_graded, question.options)) for question in choices)):
        yield f"onyx2moodle has made {given - expected} instead of {expected - given}"


def _of_moodle(found: list[dict[str, Any]], choices: list[BankQuestion]) -> Iterator[str]:
    if len(found) != len(choices):
        yield f"moodle-xml-parser has read {len(found)} questions of {len(choices)}"
        return
    for question, read in zip(choices, found, strict=True):
        options = [(_squeezed(text), fraction, _squeezed(feedback)) for text, fraction, feedback in read["options"]]
        expected = [
            (_unescaped(option.text), 100.0 * option.right, _unescaped(option.feedback)) for option in question.options
        ]
        asked = _unescaped(question.text_with_picture("@@PLUGINFILE@@"))
        if (read["name"], read["single"], _squeezed(read["text"]), options) != (question.name, True, asked, expected):
            yield f"{question.key}: moodle-xml-parser has read {read}"


def _graded(option: AnswerOption) -> tuple[str, float]:
    return _plain(option.text), 100.0 * option.right


def _plain(blocks: list[ContentBlock]) -> str:
    return _squeezed("".join("".join(block.element.itertext()) for block in blocks))


def _unescaped(blocks: list[ContentBlock]) -> str:
    """Return the HTML of blocks with every entity replaced by its character, as moodle-xml-parser does."""
    return _squeezed(html.unescape("".join(ET.tostring(block.element, encoding="unicode") for block in blocks)))


def _text_of(source: str | None) -> str:
    return _squeezed("".join(ET.fromstring(f"<div>{source or ''}</div>").itertext()))


def _squeezed(text: str) -> str:
    return re.sub(r"\s", "", text)
