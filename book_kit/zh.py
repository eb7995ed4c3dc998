"""The kit of the book's notebooks in Chinese: `%load_ext book_kit.zh`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import book_kit
from memory_stage import set_language

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def load_ipython_extension(ipython: InteractiveShell) -> None:
    """Register the cell magics, and set the language of stages and reports."""
    set_language("zh")
    book_kit.load_ipython_extension(ipython)
    set_language("zh")
