"""The kinds of torch's nodes, by their names."""

from __future__ import annotations

import re
from typing import Any

#: Nodes that only show numbers in other places.
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
    """Whether a node of torch only leaves a gradient at a leaf."""
    return type(fn).__name__ == "AccumulateGrad"


def short_name(name: str) -> str:
    """``slice`` for ``SliceBackward0``; of a function written by hand, the name of its class."""
    if re.search(r"[^:]Backward$", name):
        return name.removesuffix("Backward")
    short = re.sub(r"Backward\d*$", "", name.rpartition("::")[2])
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", short).lower() or name
