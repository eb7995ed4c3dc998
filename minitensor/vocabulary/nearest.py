"""Which of the names that exist is nearest to one that does not."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def twin_of(name: str) -> str:
    """The name in place for that of a normal operation, and the other way round."""
    return name[:-1] if name.endswith("_") else f"{name}_"


def nearest(name: str, known: Iterable[str], least: float = 0.6) -> str | None:
    """The public one of ``known`` that is nearest to ``name``, in whatever case; None where none is near.

    A twin is nearer than any spelling. ``least``: how alike two spellings have to be, from 0 to 1.
    """
    public = {each.lower(): each for each in known if not each.startswith("_")}
    twin = twin_of(name).lower()
    near = [twin] if twin in public else difflib.get_close_matches(name.lower(), public, 1, least)
    return public[near[0]] if near else None
