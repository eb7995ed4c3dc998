"""The kit of the book's notebooks in Chinese: `%load_ext book_kit.zh`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import book_kit
from memory_stage import set_language

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def load_ipython_extension(ipython: InteractiveShell) -> None:
    """Register the cell magics, set the language of stages and reports, and find the modules beside the chapters.

    Such a module, for example ``small_engine``, is only in the folder of the English page.
    """
    set_language("zh")
    book_kit.load_ipython_extension(ipython)
    set_language("zh")
    english = Path("../..", Path.cwd().name).resolve()
    if english.is_dir() and str(english) not in sys.path:
        sys.path.append(str(english))
