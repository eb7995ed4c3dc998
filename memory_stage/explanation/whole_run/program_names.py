"""The names of tensors in the frames of a program of PyTorch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import FrameType
from typing import Any

import torch

from memory_stage.explanation.whole_run import named_tensors
from memory_stage.watch.torch.backward_graph import node_of


class ProgramNames:
    """Names of tensors in the frames of a program, the innermost frame first."""

    def __init__(self, frames: list[FrameType]) -> None:
        self._found = list(named_tensors.in_frames(frames, is_tensor))

    def all_tensors(self) -> list[tuple[str, torch.Tensor]]:
        """Return every name with its tensor."""
        return list(self._found)

    def of(self, x: torch.Tensor, texts: Sequence[str] = ()) -> str:
        """Return the shortest name of a tensor with the same cells as ``x``.

        If there is none, return the name of another tensor on the storage of ``x``, or of a gradient there, or "".

        Args:
            texts: lines of the program. If the tensor has several names, one that is in these lines is preferred.
        """
        exact: list[str] = []
        whole: list[str] = []
        address = torch._C._storage_address(x)
        for name, each in self._found:
            if address_of(each) == address:
                same = each.data_ptr() == x.data_ptr() and each.shape == x.shape and each.stride() == x.stride()
                (exact if same else whole).append(name)
        found = exact or whole or self._gradients_at(address)
        used = [name for name in found if any(re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", text) for text in texts)]
        return named_tensors.shortest(used or found)

    def is_trained(self, x: torch.Tensor) -> bool:
        """Return True if a leaf that requires a gradient uses the storage of ``x``."""
        address = torch._C._storage_address(x)
        return any(address_of(each) == address and _is_trained(each) for _, each in self._found)

    def _gradients_at(self, address: int) -> list[str]:
        """Return ``NAME.grad`` for each leaf whose gradient has the storage at ``address``."""
        leaves = [(name, x) for name, x in self._found if _is_trained(x)]
        return [f"{name}.grad" for name, x in leaves if x.grad is not None and address_of(x.grad) == address]

    def with_node(self, node: Any) -> str:
        """Return the shortest name of a tensor that a node made, or ""."""
        return min((name for name, x in self._found if node_of(x) is node), key=len, default="")

    def first_with_node(self, node: Any) -> str:
        """Return the first name, from the innermost frame outwards, of a tensor that a node made, or ""."""
        return next((name for name, x in self._found if node_of(x) is node), "")


def _is_trained(x: torch.Tensor) -> bool:
    try:
        return x.is_leaf and x.requires_grad
    except RuntimeError:  # a view whose history is invalid since a write to its base
        return False


def address_of(x: torch.Tensor) -> int:
    """Return the address of a tensor's storage; -1 for a tensor without one, such as a sparse tensor."""
    try:
        return torch._C._storage_address(x) if x.layout is torch.strided else -1
    except (RuntimeError, NotImplementedError):
        return -1


def is_tensor(value: Any) -> bool:
    """Return True for a tensor of PyTorch."""
    return isinstance(value, torch.Tensor)
