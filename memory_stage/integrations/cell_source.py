"""The number of a cell, and of its lines, as the reader of a notebook sees them."""

from __future__ import annotations

import re
import sys
from types import FrameType
from typing import Any


def number_of_cell(shell: Any) -> int:
    """Return the number of the running cell. Versions of IPython differ in when they count it as executed."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = shell.compile.format_code_name(frame.f_code.co_filename)
        if name is not None and (number := re.search(r"\d+", name[1])):
            return int(number[0])
        frame = frame.f_back
    return shell.execution_count


def numbered_as_seen(cell: str, source: str) -> str:
    """Return `source` after as many empty lines as the visible cell has before it, counting the magic's line."""
    before = 1
    for line in cell.splitlines():
        if line.strip():
            break
        before += 1
    return "\n" * before + source
