"""What a page loads: scripts and stylesheets, chosen page by page.

The scripts are classic ones, not modules: browsers block modules on ``file://``, and a reader may
open the built book straight from the disk.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from minitensor.stage import element
from minitensor.stage.embed import asset
from minitensor.stage.picture import script_source

# A page whose text contains the mark gets the file.
MARKS = {
    "<memory-stage": "stage.js",
    "<memory-figure": "figures.js",
    "<predict-first": "quiz.js",
    'class="mt-note': "quiz.css",
    'class="mt-note mt-report': "explain.css",
}

# Names of what Jupyter Book adds to every page and this book has no use for: thebe (a button that
# starts a kernel on another host), the toggle button (the book folds with <details>, which needs no
# script), and the state of live widgets (nothing on a page without a kernel can show it).
UNWANTED = ("sphinx-thebe", "THEBE_JS_URL", "togglebutton", "toggleHint", "toggleOpenOnPrint")
UNWANTED_TYPES = ("application/vnd.jupyter.widget-state+json",)


def offer_package_assets(app: Sphinx) -> None:
    """Copy the package's scripts and stylesheets into the book, and tell its cells that pages link them."""
    os.environ["MINITENSOR_BOOK"] = "1"  # read by minitensor.notebook in the kernels started from here
    app.config.nb_ipywidgets_js = {}
    folder = Path(app.doctreedir) / "page_assets"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "stage.js").write_text(script_source(), encoding="utf-8")
    (folder / "figures.js").write_text(element.script_source(), encoding="utf-8")
    for name in ("quiz.js", "quiz.css", "explain.css"):
        (folder / name).write_text(asset(name, "minitensor.notebook"), encoding="utf-8")
    app.config.html_static_path.append(str(folder))


def choose_page_assets(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Drop what no page needs, then add what this page's own content asks for."""
    for kind in ("script_files", "css_files"):
        files = context[kind]  # the builder's own list, which add_js_file adds to: changed in place
        files[:] = [file for file in files if not _is_unwanted(file)]
    body = context.get("body", "")
    for mark, name in MARKS.items():
        if mark in body and name.endswith(".js"):
            app.add_js_file(name, loading_method="defer")
        elif mark in body:
            app.add_css_file(name, priority=800)


def _is_unwanted(file: Any) -> bool:
    attributes = getattr(file, "attributes", {})
    if attributes.get("type") in UNWANTED_TYPES:
        return True
    text = f"{getattr(file, 'filename', file)} {attributes.get('body') or ''}"
    return any(name in text for name in UNWANTED)
