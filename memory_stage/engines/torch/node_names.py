"""Classify nodes of torch by their names."""

from __future__ import annotations

import re
from typing import Any

#: Nodes of operations that only move values.
VIEWS = frozenset(
    f"{name}Backward{number}"
    for name in (
        "Alias", "AsStrided", "Detach", "Diagonal", "Expand", "Narrow", "Permute", "ReshapeAlias", "Select", "Slice",
        "Split", "SplitWithSizes", "Squeeze", "T", "Transpose", "Unbind", "Unfold", "UnsafeSplit", "UnsafeView",
        "Unsqueeze", "View", "ViewAsReal", "ViewAsComplex",
    )
    for number in range(4)
)  # fmt: skip


def is_leaf(fn: Any) -> bool:
    """True if a node of torch accumulates the gradient of a leaf."""
    return type(fn).__name__ == "AccumulateGrad"


def short_name(name: str) -> str:
    """Return ``slice`` for ``SliceBackward0``; for the node of a custom function, the name of its class."""
    if re.search(r"[^:]Backward$", name):
        return name.removesuffix("Backward")
    short = re.sub(r"Backward\d*$", "", name.rpartition("::")[2])
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", short).lower() or name
