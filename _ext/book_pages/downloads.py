"""Each chapter's notebook, with the outputs of the run that made the page, beside the page."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx


def _executed(app: Sphinx) -> Path:
    """The folder where MyST-NB leaves the notebooks it ran, by page name."""
    return Path(app.outdir).parent / "jupyter_execute"


def offer_notebook(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Put the notebook into the page's download menu; the theme does so only beside a launch button."""
    notebook = f"{pagename}.ipynb"
    if doctree is not None and (_executed(app) / notebook).exists():
        context["ipynb_source"] = notebook


def copy_notebooks(app: Sphinx, exception: Exception | None) -> None:
    """Copy the notebooks of this book's pages to where the download menu points."""
    if exception or app.builder.format != "html":
        return
    for pagename in app.env.all_docs:
        notebook = _executed(app) / f"{pagename}.ipynb"
        if notebook.exists():
            target = Path(app.outdir) / "_sources" / f"{pagename}.ipynb"
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(notebook, target)
