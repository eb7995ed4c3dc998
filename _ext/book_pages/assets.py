"""Choose the scripts and stylesheets of each page.

The scripts are classic ones, not modules, because a reader may open the built book from the disk, and browsers block
modules on ``file://``.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from memory_stage.web.embed import asset

from . import mathematics

# Scripts and style sheets that packages provide.
PACKAGE_ASSETS = {
    "memory_stage.web": ("stage.js", "words.js", "figures.js"),
    "book_kit.web": ("quiz.js", "quiz.css", "explain.css"),
}

# A page gets these files if its text contains the string before them.
MARKS = {
    "<memory-stage": ("stage.js", "names.js"),
    'class="beside': ("beside.js",),
    "<memory-figure": ("figures.js",),
    "<predict-first": ("quiz.js",),
    "<exercise-box": ("exercise.js", "asking.css"),
    "<error-door": ("messages.js", "error-door.js", "asking.css"),
    'class="mt-note': ("quiz.css",),
    'class="mt-note mt-report': ("explain.css",),
}

OTHER_LANGUAGE = '"language":"'  # occurs in a page whose stage or figure is not in English
WORDS = "words.js"  # has the translated texts, and has to precede the other scripts

# Files of every page. Jupyter Book and its extensions add more (buttons that start a kernel on another host, the state
# of live widgets, inline settings), which are removed.
STYLE = "page.css"
SCRIPT = "page.js"
MARKED = "marks.js"  # loads `mark-words.js`, which marks the words of a search on a page opened from the results
MATHEMATICS = (mathematics.SETTINGS, f"mathjax/{mathematics.SCRIPT}")
# Files that other files of `_static` load, or that a page names only if the book's address is known.
NAMED_ELSEWHERE = ("card.png", "mark-words.js", "fonts/*", "mathjax/**/*")
BUNDLES = Path(__file__).parent / "theme" / "built"  # bundles of the scripts in theme/js, made by tools/bundle.js
NAMED_FILE = re.compile(r"""_static/([^"'?#\s)<>]+)""")


def offer_package_assets(app: Sphinx) -> None:
    """Copy the scripts and style sheets of the packages into the book, and leave them out of the outputs of cells."""
    os.environ["MINITENSOR_BOOK"] = "1"  # the packages read this variable in the kernels of this build
    app.config.nb_ipywidgets_js = {}
    folder = Path(app.doctreedir) / "page_assets"
    folder.mkdir(parents=True, exist_ok=True)
    for package, names in PACKAGE_ASSETS.items():
        for name in names:
            (folder / name).write_text(asset(name, package), encoding="utf-8")
    app.config.html_static_path += [str(BUNDLES), str(folder)]


def choose_page_assets(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Replace the files of a page by those that every page has and those that the content of this page needs."""
    for kind in ("script_files", "css_files"):
        context[kind].clear()  # cleared and not replaced, because add_js_file appends to this list of the builder
    app.add_css_file(STYLE)
    app.add_js_file(SCRIPT, loading_method="defer")
    app.add_js_file(MARKED, loading_method="defer")
    if context["is_appendix"]:
        app.add_js_file("tables.js", loading_method="defer")
    body = context.get("body", "")
    has_drawings = "<memory-stage" in body or "<memory-figure" in body
    if has_drawings and (context["tag"] != "en" or OTHER_LANGUAGE in body):
        app.add_js_file(WORDS, loading_method="defer")
    for name in (name for mark, names in MARKS.items() if mark in body for name in names):
        if name.endswith(".js"):
            app.add_js_file(name, loading_method="defer")
        else:
            app.add_css_file(name, priority=800)
    if app.env.get_domain("math").has_equations(pagename):
        for name in MATHEMATICS:
            app.add_js_file(name, loading_method="defer")


def clean_assets(app: Sphinx, exception: Exception | None) -> None:
    """Delete the files that no page refers to, and minify the style sheets."""
    if exception or app.builder.format != "html":
        return
    out = Path(app.outdir)
    static = out / "_static"
    named = {name for page in out.rglob("*.html") for name in NAMED_FILE.findall(page.read_text(encoding="utf-8"))}
    kept = {static / name for name in named} | {path for pattern in NAMED_ELSEWHERE for path in static.glob(pattern)}
    for path in static.rglob("*"):
        if path.is_file() and path not in kept:
            path.unlink()
    for folder in sorted((path for path in static.rglob("*") if path.is_dir()), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()
    for path in static.glob("*.css"):
        path.write_text(_light_style(path.read_text(encoding="utf-8")), encoding="utf-8")


def _light_style(sheet: str) -> str:
    """Return a style sheet without comments and indentation, which takes fewer bytes."""
    sheet = re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL)
    return "\n".join(filter(None, map(str.strip, sheet.splitlines()))) + "\n"
