"""Functions that networks use: the operations of the derivative table that are found here, and those of layers."""

import importlib
from collections.abc import Callable
from typing import Any

from minitensor.operations import FUNCTIONS, names_in
from minitensor.vocabulary.missing import missing

#: Functions that are no rows of the table, and where each is defined.
_DEFINED = {
    "batch_norm": "normalization",
    "conv2d": "convolution",
    "cross_entropy": "cross_entropy",
    "l1_loss": "losses",
    "linear": "linear",
    "mse_loss": "losses",
}

__all__ = sorted([*names_in("F"), *_DEFINED])


def __getattr__(name: str) -> Callable[..., Any]:
    """A function, compiled or loaded when it is first looked up."""
    if name not in __all__:
        raise missing(__name__, name, __all__)
    if name in _DEFINED:
        found = getattr(importlib.import_module(f"minitensor.nn.{_DEFINED[name]}"), name)
    else:
        found = FUNCTIONS[name]
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
