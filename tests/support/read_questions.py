"""Read a question bank with Pyslet, onyx2moodle and moodle-xml-parser, and print their findings as JSON.

    python read_questions.py FOLDER WORK

FOLDER has `qti.zip` and `moodle.xml`; this script writes its files to WORK. It runs with the interpreter of the
environment in which these packages are installed, so it imports no module of this project.
"""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyslet.qtiv2.xml as qti
from moodle_xml_parser.parser import parse_file
from pyslet.qtiv2.items import AssessmentItem
from pyslet.qtiv2.variables import ItemSessionState
from pyslet.xml import namespace


class _Warnings(logging.Handler):
    """Collect the warnings with which Pyslet accepts an attribute that it cannot read."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(record.getMessage())


def run_items(package: zipfile.ZipFile) -> dict[str, Any]:
    """Return the findings of Pyslet, which runs QTI 2.1, about each item of a package.

    The findings are the elements that Pyslet does not know, its warnings, for each option the score and the identifier
    of the feedback that a candidate gets for choosing it, and the texts of all feedback. Pyslet reads an item with a
    free answer, but cannot show the block for the scorer.
    """
    found = {}
    for name in package.namelist():
        if not name.startswith("items/"):
            continue
        warnings = _Warnings()
        logging.getLogger().addHandler(warnings)
        document = qti.QTIDocument()
        try:
            document.read(src=package.read(name).decode())
        finally:
            logging.getLogger().removeHandler(warnings)
        item = document.root
        elements = list(_elements(item))
        found[item.identifier] = {
            "is_item": isinstance(item, AssessmentItem),
            "unknown": [each.xmlname for each in elements if type(each) is namespace.NSElement],
            "warnings": warnings.found,
            "choices": {each.identifier: _attempt(item, each.identifier) for each in _named(elements, "SimpleChoice")},
            "feedback": {each.identifier: _text(each) for each in _named(elements, "QTIModalFeedback")},
        }
    return found


def convert_items(package: zipfile.ZipFile, work: Path) -> str:
    """Return the Moodle XML that onyx2moodle makes of the items. onyx2moodle reads a zip that has a zip per item."""
    with zipfile.ZipFile(work / "outer.zip", "w") as outer:
        for name in package.namelist():
            if name.startswith("items/"):
                data = io.BytesIO()
                with zipfile.ZipFile(data, "w") as inner:
                    inner.writestr("item.xml", package.read(name))
                outer.writestr(f"{Path(name).stem}.zip", data.getvalue())
    command = ["onyx2moodle", "convert", "outer.zip", "-o", "converted.xml", "--work", "items"]
    subprocess.run(command, cwd=work, check=True, capture_output=True)
    return (work / "converted.xml").read_text(encoding="utf-8")


def _attempt(item: AssessmentItem, response: str) -> list[Any]:
    session = ItemSessionState(item)
    session.begin_session()
    session.begin_attempt()
    session["RESPONSE"].set_value(response)
    session.end_attempt()
    feedback = session["FEEDBACK"].value if session.is_outcome("FEEDBACK") else None
    return [session["SCORE"].value, feedback]


def _elements(element: Any) -> Iterator[Any]:
    yield element
    for child in element.get_children():
        if not isinstance(child, str):
            yield from _elements(child)


def _named(elements: list[Any], name: str) -> Iterator[Any]:
    return (each for each in elements if type(each).__name__ == name)


def _text(element: Any) -> str:
    return "".join(child if isinstance(child, str) else _text(child) for child in element.get_children())


def main(folder: Path, work: Path) -> None:
    with zipfile.ZipFile(folder / "qti.zip") as package:
        findings = {"pyslet": run_items(package), "onyx2moodle": convert_items(package, work)}
    choices = parse_file(str(folder / "moodle.xml"))["multichoice"]
    findings["moodle-xml-parser"] = [
        {
            "name": each.name,
            "text": each.text_pre_parse,
            "single": each.single,
            "options": [[option.answer, option.score_fraction, option.feedback] for option in each.options],
        }
        for each in choices
    ]
    json.dump(findings, sys.stdout)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
