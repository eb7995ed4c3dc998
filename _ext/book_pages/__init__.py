"""Sphinx extension of the book: pages that need nothing but their own folder.

It promises, for every page that Jupyter Book writes:

* the page asks no other host for anything (``assets``, ``icons``, ``mathematics``);
* it loads the stage, the questions and MathJax only where they appear (``assets``);
* what a cell prints is shown as it printed it (``streams``);
* the notebook as it ran is beside the page, offered for download (``downloads``);
* search engines get a description (``description``);
* the theme's own accessibility faults are mended (``accessibility``, ``templates/``).
"""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

from . import accessibility, assets, description, downloads, icons, mathematics, streams

TEMPLATES = Path(__file__).parent / "templates"


def _put_our_templates_first(app: Sphinx, config: Config) -> None:
    config.templates_path.insert(0, str(TEMPLATES))


def setup(app: Sphinx) -> dict[str, bool]:
    streams.mend_joining()
    app.connect("config-inited", _put_our_templates_first)
    app.connect("config-inited", mathematics.use_own_copy)
    app.connect("builder-inited", assets.offer_package_assets)
    # The theme and its companions fill the page context at priority 500; the theme builds the
    # download menu at 501. What prepares goes before them, what removes goes after them.
    app.connect("html-page-context", downloads.offer_notebook, priority=400)
    app.connect("html-page-context", accessibility.mend_body, priority=600)
    app.connect("html-page-context", description.describe_page, priority=600)
    app.connect("html-page-context", assets.choose_page_assets, priority=900)
    app.connect("build-finished", downloads.copy_notebooks)
    app.connect("build-finished", mathematics.copy_mathjax)
    app.connect("build-finished", icons.keep_used_icons)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
