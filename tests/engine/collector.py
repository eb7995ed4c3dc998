"""What only the garbage collector would find: an object of the engine in a cycle."""

from __future__ import annotations

import gc


def cycles() -> set[str]:
    """The types of the engine's objects that are dropped, and still there because they hold one another."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
        return {type(o).__name__ for o in gc.garbage if type(o).__module__.startswith("minitensor")}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
