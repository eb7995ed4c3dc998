"""Find objects of the engine that only the garbage collector can free, because they are in a cycle."""

from __future__ import annotations

import gc


def cycles() -> set[str]:
    """Return the types of the engine's objects in reference cycles that nothing else refers to."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
        return {type(o).__name__ for o in gc.garbage if type(o).__module__.startswith("minitensor")}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
