"""Python in the page: the files that ``tools/live.py`` brought, beside the pages, in ``_static/live``.

The build names their folder in the variable BOOK_LIVE. Templates and handlers ask the config value ``live`` whether
they are there: without them no page has a button that leads to them.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ConfigError

FOLDER = os.environ.get("BOOK_LIVE", "")


def refuse_without_files(app: Sphinx) -> None:
    """A book whose pages would ask for files that nobody brought is not built.

    Raises:
        ConfigError: ``live`` is set, and no folder is named.
    """
    if app.config.live and not FOLDER:
        raise ConfigError("`live` follows from the files being there: leave it out, and build with `make book LIVE=1`")


def tell_templates(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object | None
) -> None:
    """The value for templates."""
    context["live"] = app.config.live


def copy_files(app: Sphinx, exception: Exception | None) -> None:
    """Lay the files beside the pages, when what no page names has been deleted there."""
    if exception is None and app.config.live and app.builder.format == "html":
        shutil.copytree(FOLDER, Path(app.outdir) / "_static" / "live", dirs_exist_ok=True)
