"""Each chapter's notebook, with the outputs of the run that made the page, beside the page."""

from __future__ import annotations

import shutil
from pathlib import Path

from sphinx.application import Sphinx


def executed(app: Sphinx) -> Path:
    """The folder where MyST-NB leaves the notebooks it ran, by page name."""
    return Path(app.outdir).parent / "jupyter_execute"


def copy_notebooks(app: Sphinx, exception: Exception | None) -> None:
    """Copy the notebooks of this book's pages to where the links of a page point."""
    if exception or app.builder.format != "html":
        return
    for pagename in app.env.all_docs:
        notebook = executed(app) / f"{pagename}.ipynb"
        if notebook.exists():
            target = Path(app.outdir) / "_sources" / f"{pagename}.ipynb"
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(notebook, target)
