"""Copy MathJax into the book's folder. Only pages with mathematics load it (``assets``)."""

from __future__ import annotations

import shutil
from importlib.metadata import distribution
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

SCRIPT = "tex-chtml.js"
# The settings are in a file, because pages have no inline scripts. They switch MathJax's menu off, because its choices
# would load parts of MathJax that the book lacks.
SETTINGS = "mathjax-settings.js"
# Folders with files that the script loads if a formula needs them: rare TeX commands and the fonts.
FOLDERS = ("input/tex/extensions", "output/chtml/fonts")


def use_own_copy(app: Sphinx, config: Config) -> None:
    """Set the path of MathJax to the copy. Unset Sphinx's settings for MathJax, which Sphinx would write into pages."""
    config.mathjax_path = f"mathjax/{SCRIPT}"
    config.mathjax3_config = None


def copy_mathjax(app: Sphinx, exception: Exception | None) -> None:
    """Copy MathJax's script, its extensions and its fonts into the book if at least one page has mathematics."""
    if exception or app.builder.format != "html":
        return
    equations = app.env.get_domain("math")
    if not any(equations.has_equations(page) for page in app.env.all_docs):
        return
    package = distribution("sphinx-mathjax-offline")
    source = Path(str(package.locate_file("sphinx-mathjax-offline/static/mathjax")))
    target = Path(app.outdir) / "_static" / "mathjax"
    target.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source / SCRIPT, target / SCRIPT)
    for folder in FOLDERS:
        shutil.copytree(source / folder, target / folder, dirs_exist_ok=True)
