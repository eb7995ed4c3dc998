"""Distinguish the threads of a program from those of libraries, such as data loaders."""

from __future__ import annotations

from typing import Any

#: Modules whose threads do not belong to the program.
_NOT_THE_PROGRAMS = ("torch.utils.data", "paddle.io", "memory_stage", "book_kit")


def is_library_thread(this: Any) -> bool:
    """True if a thread, or a task of a pool, runs a function of a library."""
    target = getattr(this, "_target", None)
    module = getattr(target, "__module__", None) or type(this).__module__
    return str(module).startswith(_NOT_THE_PROGRAMS)
