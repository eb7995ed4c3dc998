"""The Chinese version of the book's extension: `%load_ext book_kit.zh`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import book_kit
from memory_stage import set_language

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def load_ipython_extension(ipython: InteractiveShell) -> None:
    """Register the cell magics, set the language of stages and reports, and make modules beside the English pages
    importable.

    A module such as ``small_engine`` exists only in the folder of the English pages.
    """
    set_language("zh")
    book_kit.load_ipython_extension(ipython)
    set_language("zh")
    english = Path("../..", Path.cwd().name).resolve()
    if english.is_dir() and str(english) not in sys.path:
        sys.path.append(str(english))
