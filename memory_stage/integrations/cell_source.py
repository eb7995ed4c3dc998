"""The number of a cell and the numbers of its lines, as a notebook shows them."""

from __future__ import annotations

import re
import sys
from types import FrameType
from typing import Any


def number_of_cell(shell: Any) -> int:
    """Return the number of the running cell. IPython's versions differ in when they increment the counter."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = shell.compile.format_code_name(frame.f_code.co_filename)
        if name is not None and (number := re.search(r"\d+", name[1])):
            return int(number[0])
        frame = frame.f_back
    return shell.execution_count


def numbered_as_seen(cell: str, source: str) -> str:
    """Return `source` with empty lines before it, so that its line numbers are those of the visible cell."""
    before = 1
    for line in cell.splitlines():
        if line.strip():
            break
        before += 1
    return "\n" * before + source
