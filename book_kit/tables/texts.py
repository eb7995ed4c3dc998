"""The texts in the data files of the appendices. ``tools/messages.py`` adds them to the catalogue ``appendices``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from pybtex.database import parse_file

from book_kit.tables import claim_tables, glossary_table, reference_tables, reports_table
from minitensor.paddle.left_out import LEFT_OUT
from minitensor.paddle.missing import NOT_HERE
from minitensor.paddle.names import ASKS, ROWS

#: Matches a word of prose: two or more small letters. Names, numbers and symbols alone need no translation.
WORD = re.compile(r"\b[a-z]{2,}\b")


def texts(root: Path) -> Iterator[tuple[str, str]]:
    """Yield each text with the file that contains it, relative to ``root``, the folder of the repository."""
    for file, found in (
        ("book/glossary.json", _glossary(root)),
        ("facts/article-claims.json", _claims(root)),
        ("facts/differences.py", _differences(root)),
        ("minitensor/paddle/left_out.py", LEFT_OUT.values()),
        ("minitensor/paddle/missing.py", NOT_HERE.values()),
        ("minitensor/paddle/names.py", _names()),
        ("facts/automatic-detection.json", _detections(root)),
        ("facts/public-reports.json", _reports(root)),
        ("references.bib", _sources(root)),
    ):
        for text in dict.fromkeys(found):
            if WORD.search(re.sub("`[^`]*`", "", text)):
                yield file, text


def _glossary(root: Path) -> Iterator[str]:
    for term in glossary_table.terms(root):
        yield term["meaning"]
        yield from (term[library] for library in glossary_table.LIBRARIES)


def _claims(root: Path) -> Iterator[str]:
    for claim in claim_tables.claims(root):
        yield from (claim["claim"], claim["so"])
        for proof in claim["proofs"]:
            if "ask" in proof:
                yield proof["question"].replace("`", "")
            yield from proof.get("rows", ())


def _differences(root: Path) -> Iterator[str]:
    for _, group in reference_tables.numbered_differences(root / "facts"):
        yield from (group.operations_text, *group.seen, group.reason)


def _reports(root: Path) -> Iterator[str]:
    for record in reports_table.PublicReports.read(root / "facts" / "public-reports.json").records.values():
        yield from map(reports_table.title_of, record["answers"])


def _detections(root: Path) -> Iterator[str]:
    for record in json.loads((root / "facts" / "automatic-detection.json").read_text(encoding="utf-8")).values():
        yield from record["answers"]


def _names() -> Iterator[str]:
    yield from (words for words, _ in ASKS.values())
    for row in ROWS:
        yield from (row.what, row.note)


def _sources(root: Path) -> Iterator[str]:
    for entry in parse_file(str(root / "references.bib")).entries.values():
        yield entry.fields["annotation"]
        yield entry.fields.get("note", "")
