"""Remove the recorder's frames from the text of an error that Paddle raises when a hook fails."""

from __future__ import annotations

import os
import re
from pathlib import Path

_HERE = str(Path(__file__).resolve().parents[2]) + os.sep
_FRAME = re.compile(r"^  (.+)\(\d+\): \S+$")


def without_frames(error: BaseException) -> None:
    """Remove the frames of this package, and of the module that started it, from the text of Paddle's error."""
    text = error.args[0] if len(error.args) == 1 else None
    if not isinstance(text, str) or "\nAt:\n" not in text or _HERE not in text:
        return
    error.args = ("\n".join(line for line in text.split("\n") if not _is_ours(line)),)


def _is_ours(line: str) -> bool:
    found = _FRAME.match(line)
    return found is not None and (found[1].startswith(_HERE) or found[1] == "<frozen runpy>")
