"""Saving and loading as both vocabularies do it; each says what it adds and which error it raises."""

from __future__ import annotations

from typing import Any

from minitensor.files import archive
from minitensor.files.archive import Unreadable
from minitensor.files.values import Read, Spelled, Written


def save_to(op: str, value: Any, target: Any, spelled: Spelled, keeps_sharing: bool) -> None:
    """Write ``value`` into a path or an open file. All of it is looked at before the first byte is written.

    Raises:
        TypeError: for what is no tensor and no plain value of Python.
    """
    written = Written(op, value, spelled, keeps_sharing)
    archive.write(target, written.arrays, written.structure)


def load_from(source: Any, **how: Any) -> Any:
    """The value that was written into a path or an open file; ``how`` is what :class:`Read` takes.

    Raises:
        OSError: if there is no such file.
        Unreadable: when it is no file of :func:`save_to`, or damaged.
    """
    arrays, structure = archive.read(source)
    try:
        return Read(arrays, structure, **how).all()
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise Unreadable(f"the file says what cannot be ({error}); nothing was loaded") from None
