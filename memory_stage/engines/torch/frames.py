"""Distinguish the program's frames from those of torch and the recorder, and imitate the program's for warnings."""

from __future__ import annotations

from types import CodeType, FunctionType, TracebackType
from typing import Any

import torch.overrides

from memory_stage.engines.torch.node_tags import UNKNOWN_PLACE

# A function on one line: a warning names the line ``co_firstlineno``, which can be replaced in a copy of the code.
_call: Any = lambda func, args, kwargs: func(*args, **kwargs)  # noqa: E731
#: The code of a frame that imitates a frame of the program. Its name marks it in tracebacks.
_IMITATION: CodeType = _call.__code__.replace(co_name="calling for the stage")
#: The code of torch's function that passes a call to the mode, if the called function is written in Python.
_DISPATCH = torch.overrides.handle_torch_function.__code__
_OWN = "memory_stage."

#: The largest number of calling frames to imitate. A warning of a function that passes its call to the mode may name
#: the line of any of these frames.
_OUTWARDS = 4


class Caller:
    """Call functions of torch so that a warning names the same line as without a recorder.

    A warning names the line of the calling frame, or of a frame around it. Therefore the call runs inside frames that
    imitate the files, lines and globals of the program's frames. Tracebacks do not contain these frames.
    """

    def __init__(self) -> None:
        self._codes: dict[tuple[CodeType, int], CodeType] = {}

    def call(self, caller_frame: Any, func: Any, args: Any, kwargs: Any) -> Any:
        """Call ``func(*args, **kwargs)`` for the frame ``caller_frame``."""
        callers = [caller_frame]
        # If a function of torch has passed its call to the mode, its callers are the frames around that function.
        if caller_frame.f_code is _DISPATCH:
            callers = self._frames_around(caller_frame)
        for caller in callers:
            func, args, kwargs = self._function_at(caller), (func, args, kwargs), {}
        del caller_frame, callers, caller
        try:
            return func(*args, **kwargs)
        except BaseException as error:
            traceback = error.__traceback__
            while traceback is not None and _is_imitation(traceback.tb_next):
                traceback.tb_next = traceback.tb_next.tb_next  # type: ignore[union-attr]  # checked by the loop
            func = args = kwargs = traceback = None
            raise

    @staticmethod
    def _frames_around(caller_frame: Any) -> list[Any]:
        """Return the frames around a function of torch that has passed its call to the mode, the innermost first."""
        frame: Any = caller_frame.f_back.f_back
        found: list[Any] = []
        while frame is not None and len(found) < _OUTWARDS:
            found.append(frame)
            frame = frame.f_back
        return found

    def _function_at(self, frame: Any) -> FunctionType:
        """Return a function that calls another one as if the line of ``frame`` called it."""
        key = frame.f_code, frame.f_lineno
        code = self._codes.get(key)
        if code is None:
            code = _IMITATION.replace(co_filename=frame.f_code.co_filename, co_firstlineno=frame.f_lineno or 1)
            self._codes[key] = code
        return FunctionType(code, frame.f_globals)


def _is_imitation(traceback: TracebackType | None) -> bool:
    return traceback is not None and traceback.tb_frame.f_code.co_name == _IMITATION.co_name


def remove_recorder_frames(error: BaseException, caller_frame: Any) -> None:
    """Remove the frames of this package from the start of a traceback, right before the error is raised again.

    Nothing is removed if a function of torch has passed its call to the mode. The traceback then has two frames of that
    function, and ``recorder.record`` needs the frames between them to recognise the second one.
    """
    if caller_frame.f_code is _DISPATCH:
        return
    traceback = error.__traceback__
    while traceback is not None and str(traceback.tb_frame.f_globals.get("__name__")).startswith(_OWN):
        traceback = traceback.tb_next
    error.__traceback__ = traceback


def place_of(frame: Any) -> tuple[CodeType, int]:
    """Return the innermost code object of the program around ``frame``, and the line that it runs."""
    while frame is not None and is_library_frame(frame):
        frame = frame.f_back
    return UNKNOWN_PLACE if frame is None else (frame.f_code, frame.f_lineno)


def is_library_frame(frame: Any) -> bool:
    """True for a frame of torch, numpy, ``memory_stage`` or ``book_kit``, and for an imitation."""
    return frame.f_code.co_name == _IMITATION.co_name or str(frame.f_globals.get("__name__")).partition(".")[0] in (
        "torch",
        "memory_stage",
        "book_kit",
        "numpy",
    )
