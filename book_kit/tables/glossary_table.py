"""Tables for the glossary, made from ``book/glossary.json``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from book_kit.tables.table_words import said, translated
from memory_stage.messages import Text, default_language, message

LIBRARIES = ("paddle", "torch", "numpy", "jax")


def terms(root: Path) -> list[dict[str, Any]]:
    """Return the terms in order. Each has its meaning, its Chinese name, the word of each library, and the page and the
    place in it that explain the term.
    """
    found: list[dict[str, Any]] = json.loads((root / "book" / "glossary.json").read_text(encoding="utf-8"))
    return found


def groups(root: Path) -> list[str]:
    """Return the headings of the groups of terms, in order."""
    return list(dict.fromkeys(term["group"] for term in terms(root)))


def table(root: Path, group: str) -> str:
    """Return the terms of one group as a Markdown table, with an anchor in each row. Its links work in a page of the
    folder ``chapters``.

    The first column has the terms in the language of the page. In a Chinese page the third column has the English
    terms.
    """
    in_chinese = default_language().code == "zh"
    other_language = message("English") if in_chinese else message("Chinese")
    libraries = ("Paddle", "PyTorch", "NumPy", "JAX")
    heads: tuple[Text, ...] = (message("Term"), message("Meaning"), other_language, *libraries, message("Taught in"))
    lines = ["| " + " | ".join(map(said, heads)) + " |", "|---" * len(heads) + "|"]
    for term in (term for term in terms(root) if term["group"] == group):
        anchor = "term-" + re.sub(r"[^a-z0-9]+", "-", term["name"].lower())
        page = term["page"].removeprefix("chapters/")
        chapter = said(message("chapter\u00a0{number}", number=int(page[:2])))
        where = f"[{chapter}]({page}.html#{term['place']})"
        own, other = term["name"], f'<span lang="zh">{term["chinese"]}</span>'
        if in_chinese:
            own, other = term["chinese"], f'<span lang="en">{term["name"]}</span>'
        words = (translated(term[library]) for library in LIBRARIES)
        cells = (f'<span id="{anchor}">**{own}**</span>', translated(term["meaning"]), other, *words, where)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)
