"""Find the tensors that the variables of frames reach, each with the code that reaches it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any

from memory_stage.recorder.reachable_tensors import find_tensors, local_variables

MOST_FRAMES = 12  # the largest number of frames that are searched, the innermost first


class _Engine:
    """The two methods of an engine that :func:`find_tensors` calls."""

    def __init__(self, is_tensor: Callable[[Any], bool]) -> None:
        self.is_tensor = is_tensor

    @staticmethod
    def slots(value: Any) -> Any:
        return None


def in_frames(frames: list[FrameType], is_tensor: Callable[[Any], bool]) -> Iterator[tuple[str, Any]]:
    """Yield every tensor that the variables of frames reach, with its name, the innermost frame first."""
    seen: set[int] = set()
    for frame in frames[:MOST_FRAMES]:
        for variables in (local_variables(frame), frame.f_globals):
            if id(variables) not in seen:
                seen.add(id(variables))
                yield from in_variables(variables, is_tensor)


def in_variables(variables: Mapping[str, Any], is_tensor: Callable[[Any], bool]) -> Iterator[tuple[str, Any]]:
    """Yield every tensor that variables reach, with its name. The variables of IPython itself are not searched."""
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    hidden = {} if shell is None else shell.user_ns_hidden
    for name, value in list(variables.items()):
        if not name.startswith("_") and (name not in hidden or hidden[name] is not value):
            yield from _reach(name, value, is_tensor)


def shortest(names: list[str]) -> str:
    """Return the name with the fewest attributes and letters, or ""."""
    return min(names, key=lambda name: (name.count("."), len(name)), default="")


def _reach(name: str, value: Any, is_tensor: Callable[[Any], bool]) -> Iterator[tuple[str, Any]]:
    try:
        found = find_tensors(name, value, _Engine(is_tensor), lambda _: "")  # type: ignore[arg-type]  # it has the methods
        yield from ((path, x) for path, x in found if is_tensor(x))
    except Exception:  # an attribute of the program's own class raised
        return
