"""Functions that networks use, normal and in place: the operations of the derivative table that are found here."""

from collections.abc import Callable
from typing import Any

from minitensor.operations import FUNCTIONS, names_in

__all__ = sorted(names_in("F"))  # noqa: PLE0605


def __getattr__(name: str) -> Callable[..., Any]:
    """An operation, compiled when it is first looked up."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    function = globals()[name] = FUNCTIONS[name]
    return function


def __dir__() -> list[str]:
    return __all__
