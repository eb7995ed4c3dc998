"""Choose the scripts and style sheets of each page.

The scripts are classic scripts, not ES modules, because a reader may open the built book from the disk, and browsers
block modules on ``file://``.
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

# Maps a package to the scripts and style sheets that it provides.
PACKAGE_ASSETS = {
    "memory_stage.web": ("stage.js", "words.js", "figures.js"),
    "book_kit.web": ("quiz.js", "quiz.css", "explain.css"),
}

# Maps a string to the files of each page whose HTML contains the string.
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

OTHER_LANGUAGE = '"language":"'  # the HTML of a page contains this text if a stage or figure is not in English
WORDS = "words.js"  # a script with the translated texts, to be loaded before the scripts of stages and figures

# Every page gets STYLE, SCRIPT and MARKED. `choose_page_assets` removes the inline settings and the files that Jupyter
# Book and its extensions add, such as files for buttons that start a kernel on another host.
STYLE = "page.css"
SCRIPT = "page.js"
MARKED = "marks.js"  # loads `mark-words.js`, which highlights searched words, on a page opened from search results
MATHEMATICS = (mathematics.SETTINGS, f"mathjax/{mathematics.SCRIPT}")  # only for pages with equations
# `clean_assets` keeps these files even if no page names them. Other files of `_static` load them, except for card.png,
# which a page names only if the book's address is known.
NAMED_ELSEWHERE = ("card.png", "mark-words.js", "fonts/*", "mathjax/**/*")
BUNDLES = Path(__file__).parent / "theme" / "built"  # tools/bundle.js makes these bundles from the scripts in theme/js
NAMED_FILE = re.compile(r"""_static/([^"'?#\s)<>]+)""")


def offer_package_assets(app: Sphinx) -> None:
    """Copy the packages' scripts and style sheets into the book, so that the outputs of cells need not contain them."""
    # The kernels of this build inherit the variable. It makes the packages omit scripts and style sheets from outputs.
    os.environ["MINITENSOR_BOOK"] = "1"
    app.config.nb_ipywidgets_js = {}  # MyST-NB would load scripts for live widgets from other hosts
    folder = Path(app.doctreedir) / "page_assets"
    folder.mkdir(parents=True, exist_ok=True)
    for package, names in PACKAGE_ASSETS.items():
        for name in names:
            (folder / name).write_text(asset(name, package), encoding="utf-8")
    app.config.html_static_path += [str(BUNDLES), str(folder)]


def choose_page_assets(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Give a page only the scripts and style sheets that every page needs, and those that its content needs."""
    for kind in ("script_files", "css_files"):
        context[kind].clear()  # a new list would have no effect, because add_js_file appends to the builder's own list
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
    """Delete the files of `_static` that no page needs, and minify the style sheets."""
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
    """Return a style sheet without comments, indentation and empty lines, to save bytes."""
    sheet = re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL)
    return "\n".join(filter(None, map(str.strip, sheet.splitlines()))) + "\n"
