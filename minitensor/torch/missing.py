"""What is not here says so, and names the nearest thing that is."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import Any

#: Per owner: names that are there and do not count, and what others are called.
NOT_HERE: dict[str, tuple[frozenset[str], dict[str, str]]] = {}


def missing(owner: str, name: str, known: Iterable[str], obj: Any = None) -> AttributeError:
    """The error for a name that ``owner`` does not have: PyTorch's words, and the nearest of the ``known`` names."""
    hidden, meant = NOT_HERE.get(owner, (frozenset(), {}))
    if name in meant:
        hint = f"; PyTorch's name is '{meant[name]}'"
    else:
        public = {each.lower(): each for each in known if not each.startswith("_") and each not in hidden}
        # A name in place or without its underscore is nearer than any spelling.
        other = name[:-1] if name.endswith("_") else f"{name}_"
        near = [other.lower()] if other.lower() in public else difflib.get_close_matches(name.lower(), public, 1, 0.5)
        hint = f"; the nearest that minitensor has is '{public[near[0]]}'" if near else ""
    return AttributeError(f"{owner} has no attribute '{name}'{hint}", name=name, obj=obj)


def missing_in(module: str, names: Callable[[], Iterable[str]]) -> Callable[[str], Any]:
    """A module's ``__getattr__``: PyTorch calls the module ``module`` in its errors."""

    def __getattr__(name: str) -> Any:
        # What Python itself asks a module for is not to be explained.
        if name.startswith("__"):
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        raise missing(f"module '{module}'", name, names())

    return __getattr__
