"""Which in-place operation was refused, and of what tensor: read from the frames of the engine's functions."""

from __future__ import annotations

from dataclasses import dataclass
from types import FrameType

from minitensor.core.tensor import Tensor
from minitensor.explaining.needs import row_of, wanted_in
from minitensor.explaining.sources import is_engines

#: In-place operations whose names do not end in an underscore.
_WRITING = ("setitem", "set_value")


@dataclass(frozen=True)
class Attempt:
    """An in-place operation that raised.

    Attributes:
        x: the tensor that it would have written, if that was one.
        wanted: the operands whose gradients were asked for; None when it did not come so far.
    """

    op: str
    x: Tensor | None
    wanted: list[str] | None


def frames_of(frame: FrameType) -> list[FrameType]:
    """The engine's frames from ``frame`` outwards, up to the program's own."""
    frames = []
    while is_engines(frame) and frame.f_back is not None:
        frames.append(frame)
        frame = frame.f_back
    return frames


def attempt_in(frames: list[FrameType]) -> Attempt | None:
    """The in-place operation that runs in ``frames`` (the innermost first); None when there is none."""
    frame = next((each for each in reversed(frames) if _is_in_place(each.f_code.co_name)), None)
    if frame is None:
        return None
    op = frame.f_code.co_name
    row = row_of(op)
    names = frame.f_locals
    x = names.get(row.target if row is not None else "x")
    attempt = Attempt(op, x if isinstance(x, Tensor) else None, wanted_in(op, names))
    if isinstance(names, dict):
        # Before Python 3.13 the frame keeps this copy of its variables. Among them is the error, which leads back to
        # the frame: the circle would keep tensors alive.
        names.clear()
    return attempt


def _is_in_place(name: str) -> bool:
    return name in _WRITING or (name.endswith("_") and not name.startswith("_"))
