"""Run a program line by line, in PyTorch or minitensor, and record the state of every name afterwards."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import Any

#: Texts that identify an error by its message, and the kind of each.
KINDS = (
    ("has been modified by an inplace operation", "stale"),
    ("a view of a leaf Variable", "view of a leaf"),
    ("a leaf Variable that requires grad", "leaf"),
    ("more than one element of the written-to tensor", "expanded"),
    ("some elements of the input tensor and the written-to tensor", "overlap"),
    ("function that returns multiple views", "several views"),
    ("created in no_grad mode", "view made under no_grad"),
    ("backward through the graph a second time", "freed"),
    ("does not require grad and does not have a grad_fn", "nothing recorded"),
    ("appears to not have been used in the graph", "unused"),
    ("Can't detach views in-place", "detach of a view"),
    ("has been detached in-place", "saved and detached"),
)

#: Matches a line that assigns a gradient to a variable.
GRADIENT = re.compile(r"(\w+) = (?:x\.grad|torch\.autograd\.grad\()")


def kind(error: Exception) -> str:
    """Return the kind of an error by its message, or else the name of its type."""
    return next((name for words, name in KINDS if words in str(error)), type(error).__name__)


def run(torch: Any, lines: Sequence[str]) -> dict[str, Any]:
    """Run a program, and return its first error and the final state of every name.

    `error` has the line, the type and the kind of the error. `names` has for each tensor its numbers, shape and
    version, and whether it requires a gradient and is a leaf. `gradients` has the gradient of each leaf. `kept` has an
    entry for each variable to which the program assigned a gradient: true if `x.grad` is still the same object, and
    "nothing" if the variable is None. The version of a gradient counts the writes since this assignment, because the
    frameworks may return gradients of different versions.
    """
    space: dict[str, Any] = {"torch": torch}
    result: dict[str, Any] = {}
    begun: dict[str, int] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, line in enumerate(lines):
            try:
                exec(line, space)
                got = GRADIENT.match(line)
                if got and isinstance(space[got[1]], torch.Tensor):
                    begun[got[1]] = space[got[1]]._version
            except Exception as error:
                result["error"] = [number, type(error).__name__, kind(error)]
                break
        tensors = {name: value for name, value in space.items() if isinstance(value, torch.Tensor)}
        result["names"] = {name: observation(value, begun.get(name, 0)) for name, value in sorted(tensors.items())}
        leaves = [name for name in ("c", "x") if name in tensors and tensors[name].is_leaf]
        result["gradients"] = {
            name: None if tensors[name].grad is None else observation(tensors[name].grad)[:2] for name in leaves
        }
        result["kept"] = {
            name: "nothing" if space[name] is None else space[name] is space["x"].grad
            for name in space
            if name[0] == "k" and name[1:].isdigit()
        }
    return result


def observation(tensor: Any, begun: int = 0) -> list[Any]:
    """Return numbers (six significant digits), shape, version and flags of a tensor. If reading the tensor raises an
    error, return only the error's kind.
    """
    try:
        flags = ("wants" if tensor.requires_grad else "") + (" leaf" if tensor.is_leaf else "")
        numbers = [float(f"{number:.6g}") for number in tensor.detach().reshape(-1).tolist()]
    except RuntimeError as error:
        return [kind(error)]
    return [numbers, list(tensor.shape), tensor._version - begun, flags]
