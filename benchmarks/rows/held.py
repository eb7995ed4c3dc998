"""Bytes that each in-place operation on a tensor of 1 MiB keeps for backward, and bytes that it keeps under no_grad.

The bytes of minitensor are compared with those of Paddle and PyTorch, which were recorded for some operations
(``facts/goldens``, ``facts/torch-copies.json``).
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from benchmarks.table import Limit

TITLE = "bytes left behind by every in-place operation on 1 MiB"

FACTS = Path(__file__).parents[2] / "facts"
ROUNDS = 1


def under_no_grad(name: str) -> int | None:
    """Return the bytes that an operation keeps under no_grad; None if it gives the tensor another storage."""
    import minitensor as mt
    from book_kit.data import sample_calls

    x, given = sample_calls.full(0.5, name), sample_calls.arguments(name)
    if name.startswith(sample_calls.INTEGERS):
        x = mt.full([sample_calls.SIDE, sample_calls.SIDE], 2, dtype="int64")
    with mt.no_grad():
        storage = x._storage
        before = mt.device.cpu.memory_allocated()
        result = sample_calls.call(name, x, given)
        if x._storage is not storage:
            return None
        del result, storage
        return mt.device.cpu.memory_allocated() - before


def copies() -> dict[str, tuple[Fraction, Fraction]]:
    """Map each operation to the copies of x that minitensor keeps, and to the fewest that Paddle or PyTorch keeps.

    Operations without a record of Paddle or PyTorch are missing.
    """
    from book_kit.tables import reference_tables

    found = {}
    for entry in reference_tables.entries(FACTS):
        recorded = [Fraction(each.split()[0]) for each in (entry.paddle, entry.torch) if each != "–"]
        if recorded and entry.held != "–":
            found[entry.name] = Fraction(entry.held), min(recorded)
    return found


def minitensor() -> dict[str, float]:
    from book_kit.tables import reference_tables

    both = copies()
    free = {entry.name: under_no_grad(entry.name) for entry in reference_tables.entries(FACTS)}
    names = [name for name, (ours, least) in both.items() if ours > least]
    return {
        "operations compared with Paddle or PyTorch": len(both),
        "operations that hold more than Paddle or PyTorch": len(names),
        "operations that hold less than each recorded framework": sum(ours < least for ours, least in both.values()),
        "operations run under no_grad": sum(held is not None for held in free.values()),
        "bytes held under no_grad, all together": sum(held for held in free.values() if held),
        **{f"more: {name}": float(both[name][0]) for name in names},
    }


FIGURES = {"minitensor": minitensor}

ROWS = [
    Limit("operations compared with Paddle or PyTorch", "operations"),
    Limit("operations that hold more than Paddle or PyTorch", "operations", most=0),
    Limit("operations that hold less than each recorded framework", "operations"),
    Limit("operations run under no_grad", "operations"),
    Limit("bytes held under no_grad, all together", "bytes", most=0),
]
