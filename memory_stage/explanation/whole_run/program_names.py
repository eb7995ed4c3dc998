"""The names by which the frames of a program reach a tensor."""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType
from typing import Any

import torch

from memory_stage.recorder.reachable_tensors import local_variables, reached
from memory_stage.watch.torch.backward_graph import node_of

MOST_FRAMES = 12  # of the program, counted from the innermost


class _Engine:
    """The part of a stage's engine that the search for names asks."""

    @staticmethod
    def is_tensor(value: Any) -> bool:
        return isinstance(value, torch.Tensor)

    @staticmethod
    def slots(value: Any) -> Any:
        return None


class ProgramNames:
    """Names of tensors in the frames of a program, the innermost frame first.

    Args:
        frames: frames of the program.
    """

    def __init__(self, frames: list[FrameType]) -> None:
        self._found: list[tuple[str, torch.Tensor]] = []
        seen: set[int] = set()
        for frame in frames[:MOST_FRAMES]:
            for variables in (local_variables(frame), frame.f_globals):
                if id(variables) in seen:
                    continue
                seen.add(id(variables))
                for name, value in list(variables.items()):
                    if not name.startswith("_"):
                        self._found += [(path, x) for path, x in _below(name, value)]

    def all_tensors(self) -> list[tuple[str, torch.Tensor]]:
        """Return every name with its tensor."""
        return list(self._found)

    def of(self, x: torch.Tensor) -> str:
        """Return the shortest name of the memory of ``x``: of the same elements if possible, or ""."""
        exact: list[str] = []
        whole: list[str] = []
        address = torch._C._storage_address(x)
        for name, each in self._found:
            if each.layout is torch.strided and torch._C._storage_address(each) == address:
                same = each.data_ptr() == x.data_ptr() and each.shape == x.shape and each.stride() == x.stride()
                (exact if same else whole).append(name)
        return min(exact or whole, key=lambda name: (name.count("."), len(name)), default="")

    def with_node(self, node: Any) -> str:
        """Return the name of a tensor that a node made, or ""."""
        return min((name for name, x in self._found if node_of(x) is node), key=len, default="")


def _below(name: str, value: Any) -> Iterator[tuple[str, torch.Tensor]]:
    try:
        found = reached(name, value, _Engine(), lambda _: "")  # type: ignore[arg-type]  # only these two are asked
        yield from ((path, x) for path, x in found if isinstance(x, torch.Tensor))
    except Exception:  # an attribute of the program's own class raised
        return
