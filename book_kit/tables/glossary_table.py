"""The tables of the glossary, made from ``book/glossary.json``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

HEADS = ("Term", "Meaning", "Chinese", "Paddle", "PyTorch", "NumPy", "JAX", "Taught in")


def terms(root: Path) -> list[dict[str, Any]]:
    """Return the terms in order: name, chinese, meaning, the libraries' words, and the page and place of each."""
    found: list[dict[str, Any]] = json.loads((root / "book" / "glossary.json").read_text(encoding="utf-8"))
    return found


def groups(root: Path) -> list[str]:
    """Return the headings, in order."""
    return list(dict.fromkeys(term["group"] for term in terms(root)))


def table(root: Path, group: str) -> str:
    """Return the terms of one group as a Markdown table, with an anchor in each row and links from ``chapters``."""
    lines = ["| " + " | ".join(HEADS) + " |", "|---" * len(HEADS) + "|"]
    for term in (term for term in terms(root) if term["group"] == group):
        anchor = "term-" + re.sub(r"[^a-z0-9]+", "-", term["name"].lower())
        page = term["page"].removeprefix("chapters/")
        where = f"[chapter\u00a0{int(page[:2])}]({page}.html#{term['place']})"
        chinese = f'<span lang="zh">{term["chinese"]}</span>'
        words = (term[library] for library in ("paddle", "torch", "numpy", "jax"))
        cells = (f'<span id="{anchor}">**{term["name"]}**</span>', term["meaning"], chinese, *words, where)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)
