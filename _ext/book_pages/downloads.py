"""Copy the executed notebook of each page into the folder ``_sources`` of the built book, for download."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import nbformat
from sphinx.application import Sphinx

from . import stills
from .included import with_lines
from .step_marks import in_language


def executed(app: Sphinx) -> Path:
    """Return the folder to which MyST-NB writes executed notebooks, one for each page."""
    return Path(app.outdir).parent / "jupyter_execute"


def copy_notebooks(app: Sphinx, exception: Exception | None) -> None:
    """Write the notebook of each page to the address that the page links to.

    The copy contains the lines of source that the page includes, and a picture for each mark of a step.
    """
    if exception or app.builder.format != "html":
        return
    for pagename in app.env.all_docs:
        notebook = executed(app) / f"{pagename}.ipynb"
        if notebook.exists():
            target = Path(app.outdir) / "_sources" / f"{pagename}.ipynb"
            target.parent.mkdir(parents=True, exist_ok=True)
            ran = nbformat.read(notebook, as_version=4)
            for cell in ran.cells:
                if cell.cell_type == "markdown":
                    cell.source = with_lines(cell.source, Path(app.srcdir, pagename).parent)
            stills.add_to_notebook(ran, partial(in_language, app))
            nbformat.write(ran, target)
