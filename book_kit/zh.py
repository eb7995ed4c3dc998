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
    """Register the cell magics, and set the language of stages and reports to Chinese.

    Also add the folder of the English pages to ``sys.path``, because some modules that Chinese pages import exist only
    in that folder.
    """
    set_language("zh")
    book_kit.load_ipython_extension(ipython)
    english = Path("../..", Path.cwd().name).resolve()
    if english.is_dir() and str(english) not in sys.path:
        sys.path.append(str(english))
