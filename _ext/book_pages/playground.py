"""The playground: programs of the book to begin with, and what the page says without Python in it.

A page with a `<play-ground>` holds there what a reader sees whose copy of the book has no Python in its pages. Where it
has, the element says what it needs, until ``live.js`` puts the button there.
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

PAGES = ("chapters/playground", "chapters/fifteen_confusions")  # whose stages are offered, in this order
PLACE = re.compile(r"(<play-ground\b[^>]*>).*?(</play-ground>)", re.DOTALL)
NEEDS = "<p>Here you can write a program and run it, in a browser that runs JavaScript and WebAssembly.</p>"


def offer_playground(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Where Python stands beside the pages, let the element say so."""
    if app.config.live and "body" in context:
        context["body"] = PLACE.sub(rf"\1{NEEDS}\2", context["body"])


def write_programs(app: Sphinx, exception: Exception | None) -> None:
    """Lay the programs beside Python, for the playground to load."""
    pages = [page for page in PAGES if page in app.env.all_docs]
    if exception is None and app.config.live and app.builder.format == "html" and pages:
        groups = [group_of(trace) for page in pages for trace in traces(executed(app) / f"{page}.ipynb")]
        text = json.dumps(groups, ensure_ascii=False, separators=(",", ":"))
        (Path(app.outdir) / "_static" / "live" / "programs.json").write_text(text, encoding="utf-8")


def traces(notebook: Path) -> Iterator[dict[str, Any]]:
    """What the stages of a notebook show, as it ran."""
    for cell in nbformat.read(notebook, as_version=4).cells:
        for output in cell.get("outputs", []):
            shown = BeautifulSoup(output.get("data", {}).get("text/html", ""), "html.parser")
            yield from (json.loads(stage.script.string) for stage in shown.select("memory-stage"))


def group_of(trace: dict[str, Any]) -> dict[str, Any]:
    """The programs of a stage, under its title, as ``playground.js`` offers them."""
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
