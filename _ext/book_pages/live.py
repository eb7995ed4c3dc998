"""Add Python in the page: copy the files that ``tools/live.py`` has fetched to ``_static/live``.

The environment variable BOOK_LIVE has the path of the folder with these files. The config value ``live`` is True if the
variable is set. If ``live`` is False, no page has a button for Python in the page.
"""

from __future__ import annotations

import json
import os
import shutil
from importlib.resources import files
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ConfigError

FOLDER = os.environ.get("BOOK_LIVE", "")
PARTS = Path(__file__).parent / "theme" / "live"  # scripts that a page loads after a click
SCHEMA = "trace.schema.json"  # the schema with which the scripts validate recordings
RUNS = ("<memory-stage", "<exercise-box", "<play-ground")  # a page with one of these elements can run Python


def refuse_without_files(app: Sphinx) -> None:
    """Refuse to build a book with pages that would request missing files.

    Raises:
        ConfigError: if ``live`` is True and the variable BOOK_LIVE is not set.
    """
    if app.config.live and not FOLDER:
        raise ConfigError("the build sets `live` itself: remove it from _config.yml, and run `make book LIVE=1`")


def add_to_context(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object | None
) -> None:
    """Add the config value ``live`` to the context of templates."""
    context["live"] = app.config.live


def choose_assets(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object | None
) -> None:
    """Add the script that makes the buttons to each page that can run Python, with the size of the files to load."""
    if app.config.live and any(mark in context.get("body", "") for mark in RUNS):
        weight = json.loads((Path(FOLDER) / "live.json").read_text(encoding="utf-8"))["compressed"]
        app.add_js_file("live.js", loading_method="defer", **{"data-megabytes": f"{weight / 1e6:.0f}"})
        app.add_css_file("live.css", priority=800)
        if "<play-ground" in context["body"]:
            app.add_css_file("quiz.css", priority=800)
            app.add_css_file("explain.css", priority=800)


def copy_files(app: Sphinx, exception: Exception | None) -> None:
    """Copy the files into the built book. This runs after `clean_assets`, which would delete them."""
    if exception is None and app.config.live and app.builder.format == "html":
        folder = Path(app.outdir) / "_static" / "live"
        shutil.copytree(FOLDER, folder, dirs_exist_ok=True)
        shutil.copytree(PARTS, folder, dirs_exist_ok=True)
        (folder / SCHEMA).write_text(files("memory_stage.trace").joinpath(SCHEMA).read_text("utf-8"), encoding="utf-8")
