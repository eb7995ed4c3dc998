"""Functions that are no rows of the derivative table, gathered: as functions of the module, and as methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitensor.torch import older_names, operators  # noqa: F401  # some methods of operators are replaced here
from minitensor.torch.compiling import FUNCTIONS as TABLE
from minitensor.torch.converting import is_floating_point, is_tensor, numel, to, type_as
from minitensor.torch.counting import bincount, unique
from minitensor.torch.extremes import argmax, argmin, max, min
from minitensor.torch.joining import cat, repeat, stack
from minitensor.torch.keywords import with_numpy_names, with_out
from minitensor.torch.products import bmm, dot, matmul, mm, mv, outer
from minitensor.torch.random import multinomial
from minitensor.torch.rearranging import (
    addcdiv,
    addcdiv_,
    addcmul,
    addcmul_,
    argsort,
    clamp_max,
    clamp_max_,
    clamp_min,
    clamp_min_,
    flip,
    index_copy_,
    roll,
    sort,
    tile,
    topk,
    trace,
)
from minitensor.torch.statistics import log_softmax, logsumexp, norm, std, var
from minitensor.torch.tensor import Tensor
from minitensor.torch.truths import all, allclose, any_, count_nonzero, equal, isclose, nonzero, where

#: As functions and as methods.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "mm": mm, "matmul": matmul, "bmm": bmm, "mv": mv, "dot": dot, "outer": outer, "argmax": argmax, "argmin": argmin,
    "max": max, "min": min, "all": all, "any": any_, "isclose": isclose, "allclose": allclose, "equal": equal,
    "count_nonzero": count_nonzero, "nonzero": nonzero, "var": var, "std": std, "norm": norm,
    "log_softmax": log_softmax, "logsumexp": logsumexp, "flip": flip, "roll": roll, "argsort": argsort, "sort": sort,
    "topk": topk, "unique": unique, "bincount": bincount, "multinomial": multinomial,
    "tile": tile, "trace": trace, "addcmul": addcmul, "addcdiv": addcdiv, "clamp_min": clamp_min,
    "clamp_max": clamp_max,
}  # fmt: skip
#: As functions only.
ONLY_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "cat": cat, "concat": cat, "concatenate": cat, "stack": stack, "where": where, "is_tensor": is_tensor,
    "numel": numel, "is_floating_point": is_floating_point, "detach": Tensor.detach, **older_names.KINDS,
}  # fmt: skip

#: As methods only.
METHODS: dict[str, Callable[..., Any]] = {
    "to": to, "type_as": type_as, "repeat": repeat, "index_copy_": index_copy_, "addcmul_": addcmul_,
    "addcdiv_": addcdiv_, "clamp_min_": clamp_min_, "clamp_max_": clamp_max_,
}  # fmt: skip

for _name in ("argmax", "argmin", "max", "min", "all", "any", "var", "std", "norm", "logsumexp"):
    FUNCTIONS[_name] = with_numpy_names(FUNCTIONS[_name])
for _name, _function in {**FUNCTIONS, **METHODS}.items():
    setattr(Tensor, _name, _function)
Tensor.__matmul__ = matmul

# What follows is not the methods'.
for _name in (
    *("mm", "matmul", "bmm", "mv", "dot", "outer", "var", "std", "norm", "log_softmax", "logsumexp", "addcmul"),
    *("addcdiv", "clamp_min", "clamp_max", "argmax", "argmin", "all", "any", "max", "min", "nonzero", "sort", "topk"),
    *("argsort", "multinomial"),
):
    FUNCTIONS[_name] = with_out(FUNCTIONS[_name])
for _name in ("cat", "concat", "concatenate", "stack", "where"):
    ONLY_FUNCTIONS[_name] = with_numpy_names(with_out(ONLY_FUNCTIONS[_name]))


def _where(input: Tensor, condition: Tensor, other: Any) -> Tensor:
    """The tensor where ``condition`` is true, else ``other``, in the broadcast shape of the three.

    Raises:
        RuntimeError: for a condition that is not of bools, or shapes that cannot be broadcast.
    """
    return TABLE["where"](condition, input, other)


Tensor.where = _where  # type: ignore[attr-defined]  # put on the class here
