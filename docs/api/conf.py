"""Settings of Sphinx for the pages about the functions of memory-stage: ``make api``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

project = "memory-stage"
author = "The authors of In Place"
extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "alabaster"
html_theme_options = {
    "description": "Which line of a training spoiled it?",
    "fixed_sidebar": True,
    "show_powered_by": False,
}
html_show_sourcelink = False
autodoc_typehints = "description"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
napoleon_numpy_docstring = False
nitpicky = False
