"""Find the object that refers to a tensor for which the program has no name."""

from __future__ import annotations

import gc
import types
from typing import Any

from memory_stage.messages import Text, message

_KINDS: tuple[tuple[type, Text], ...] = (
    (list, message("a list")),
    (tuple, message("a tuple")),
    (dict, message("a dict")),
    (set, message("a set")),
    (types.CellType, message("a function that closed over it")),
    (types.GeneratorType, message("a generator")),
)

SOMETHING = message("something else")


def holder_of(value: Any) -> Text:
    """Return a phrase for the first container that the garbage collector finds: ``an object of class Net``."""
    for each in gc.get_referrers(value):
        for kind, text in _KINDS:
            if type(each) is kind and not _is_namespace(each):
                return text
        if _is_object(each):
            return message("an object of class {name}", name=type(each).__name__)
    return SOMETHING


def _is_object(holder: Any) -> bool:
    """True if a value is an object of the program, with a dict of attributes or with slots."""
    if isinstance(holder, (types.ModuleType, type, types.FunctionType)):
        return False
    return hasattr(holder, "__dict__") or hasattr(type(holder), "__slots__")


def _is_namespace(container: Any) -> bool:
    """True if a dict is the namespace of a module or of a running function."""
    return type(container) is dict and ("__builtins__" in container or "__name__" in container)
