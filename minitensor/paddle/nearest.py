"""Find the existing name that is nearest to a missing one, and names with the same last word."""

from __future__ import annotations

import re
from collections.abc import Iterable

#: Names of at most this length that differ in one letter are probably different words, such as `svd` and `std`.
_SHORT = 4
#: Names of at least this length may differ from the meant name by two slips, such as a missing and a replaced letter.
_LONG = 7


def twin_of(name: str) -> str:
    """Return ``add_`` for ``add``, and ``add`` for ``add_``."""
    return name[:-1] if name.endswith("_") else f"{name}_"


def count_slips(name: str, other: str) -> int:
    """Count the letters that were omitted, inserted, replaced, or swapped with the next one.

    The count is the optimal string alignment distance, except that in names of at most ``_SHORT`` letters a replacement
    counts twice.
    """
    replacement = 2 if max(len(name), len(other)) <= _SHORT else 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(name, 1):
        last, before, row = before, row, [i]
        for j, b in enumerate(other, 1):
            cost = min(before[j] + 1, row[-1] + 1, before[j - 1] + (a != b) * replacement)
            if i > 1 and j > 1 and a != b and a == other[j - 2] and b == name[i - 2]:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the public name in ``known`` of which ``name`` is probably a misspelling, ignoring case; or None.

    The twin of ``name``, with or without the last underscore, comes first. Otherwise the names may differ by one slip,
    or by two if both have at least ``_LONG`` letters.
    """
    public = {each.lower(): each for each in sorted(known) if not each.startswith("_")}
    given = name.lower()
    if twin_of(given) in public:
        return public[twin_of(given)]
    near = {each: count_slips(given, each) for each in public if abs(len(each) - len(given)) <= 2}
    best = min(near, key=near.__getitem__, default=None)
    if best is None or near[best] > (2 if min(len(given), len(best)) >= _LONG else 1):
        return None
    return public[best]


def of_its_kind(name: str, known: Iterable[str]) -> list[str]:
    """Return the names in ``known`` that end with the same word as ``name``: `MSELoss` for `BCELoss`, `l1_loss` for
    `a_loss`.
    """
    kind = _kind(name)
    return sorted(each for each in known if kind is not None and not each.startswith("_") and _kind(each) == kind)


def _kind(name: str) -> str | None:
    """Return the last word of a name: `Loss` of `BCELoss`, `entropy` of `cross_entropy`; None for a single word."""
    found = re.search(r"(?<=.)[A-Z][a-z]{3,}$|(?<=_)[a-z]{4,}$", name.rstrip("_"))
    return found and found[0]


def like_it(name: str, known: Iterable[str]) -> str:
    """Return the hint for the missing ``name``: the nearest name, else names with the same last word, else ""."""
    known = list(known)
    near = nearest(name, known)
    if near is not None:
        return f"; the nearest name is '{near}'"
    kin = of_its_kind(name, known)
    return f"; of its kind minitensor has {', '.join(kin)}" if kin else ""
