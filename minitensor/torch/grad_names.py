"""What PyTorch calls the function that made a value: ``AddBackward0``, ``MulBackward0``, ``CopySlices``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minitensor.core.history import Node

#: Where the name does not follow from the engine's name of the operation. Operations that are made for this vocabulary
#: bear PyTorch's name already.
NAMES = {
    "subtract": "Sub",
    "multiply": "Mul",
    "divide": "Div",
    "pow": "Pow",
    "matmul": "Mm",
    "getitem": "Index",
    "concat": "Cat",
    "take_along_axis": "Gather",
    "put_along_axis": "Scatter",
    "t": "T",
    "clip": "Clamp",
    "cast": "ToCopy",
    "cpu": "ToCopy",
    "cuda": "ToCopy",
    "log1p": "Log1P",
}

#: Names that stand alone.
WHOLE = {"write": "CopySlices", "setitem": "CopySlices", "read": "AsStridedBackward0", "reshaped": "AsStridedBackward0"}


def function_name(node: Node) -> str:
    """The name of the function of ``node``."""
    op = node.op
    special = getattr(op, "torch_name", None)
    if special is not None:
        return special(node) if callable(special) else special
    if not node.inputs and op.name == "leaf":
        return "torch::autograd::AccumulateGrad"
    if op.name == "setitem" and op.saved_names:
        return "IndexPutBackward0"  # at an advanced index
    return operation_name(op.name)


def operation_name(name: str) -> str:
    """The name of the function of an operation that the engine calls ``name``."""
    if name in WHOLE:
        return WHOLE[name]
    name = name.removesuffix("_")
    camel = NAMES.get(name) or "".join(part[:1].upper() + part[1:] for part in name.split("_"))
    return f"{camel}Backward0"
