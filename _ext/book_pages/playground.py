"""Provide the playground with programs of the book, and with a text that is shown before its button appears.

In the source of a page, the element `<play-ground>` contains a text for books without Python in the page. In a book
with Python in the page, the build replaces this text by one that names the requirements. ``live.js`` replaces that text
by a button.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from bs4 import BeautifulSoup
from docutils import nodes
from sphinx.application import Sphinx

from .downloads import executed
from .frame_words import say

# the pages with the stages whose programs the playground offers, in this order
PAGES = ("chapters/playground", "chapters/fifteen_confusions")
PLACE = re.compile(r"(<play-ground\b[^>]*>).*?(</play-ground>)", re.DOTALL)
NEEDS = "Here you can write a program and run it, in a browser that runs JavaScript and WebAssembly."


def offer_playground(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Replace the text of the element `<play-ground>` if the book has Python in the page."""
    if app.config.live and "body" in context:
        context["body"] = PLACE.sub(rf"\1<p>{say(app, NEEDS)}</p>\2", context["body"])


def write_programs(app: Sphinx, exception: Exception | None) -> None:
    """Write the file with the programs that the playground offers."""
    pages = [page for page in PAGES if page in app.env.all_docs]
    if exception is None and app.config.live and app.builder.format == "html" and pages:
        groups = [group_of(trace) for page in pages for trace in traces(executed(app) / f"{page}.ipynb")]
        text = json.dumps(groups, ensure_ascii=False, separators=(",", ":"))
        (Path(app.outdir) / "_static" / "live" / "programs.json").write_text(text, encoding="utf-8")


def traces(notebook: Path) -> Iterator[dict[str, Any]]:
    """Yield the recordings in the stages of an executed notebook."""
    for cell in nbformat.read(notebook, as_version=4).cells:
        for output in cell.get("outputs", []):
            shown = BeautifulSoup(output.get("data", {}).get("text/html", ""), "html.parser")
            yield from (json.loads(stage.script.string) for stage in shown.select("memory-stage"))


def group_of(trace: dict[str, Any]) -> dict[str, Any]:
    """Return the title and the programs of a stage, in the format that ``playground.js`` reads."""
    device = "cpu" if trace["device"] == "cpu" else "gpu:sim"
    programs = [
        {
            "label": variant["label"] or trace["title"],
            "code": "\n".join(variant["code"]),
            "policy": variant.get("policy") or "2.6",
            "device": device,
        }
        for variant in trace["variants"]
    ]
    return {"title": trace["title"], "programs": programs}
