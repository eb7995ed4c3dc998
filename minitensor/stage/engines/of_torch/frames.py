"""Whose frame is whose: where in the program torch was called."""

from __future__ import annotations

import warnings
from types import CodeType
from typing import Any

from minitensor.stage.engines.of_torch.nodes import UNKNOWN_PLACE


def warned_for(frame: Any, func: Any, args: Any) -> Any:
    """What a function gives that warns; the warnings are those of the program's line in ``frame``, not of this one."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = func(*args)
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    for each in caught:
        code, module = frame.f_code, frame.f_globals.get("__name__")
        warnings.warn_explicit(each.message, each.category, code.co_filename, frame.f_lineno, module, registry)
    return result


def place_of(frame: Any) -> tuple[CodeType, int]:
    """The innermost code around ``frame`` that is neither torch's nor this package's, and its line."""
    while frame is not None and is_inside(frame):
        frame = frame.f_back
    return UNKNOWN_PLACE if frame is None else (frame.f_code, frame.f_lineno)


def is_inside(frame: Any) -> bool:
    """Whether a frame is of torch, of numpy or of this package."""
    return str(frame.f_globals.get("__name__")).partition(".")[0] in ("torch", "minitensor", "numpy")
