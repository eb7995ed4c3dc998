"""Save and load values; Paddle's and PyTorch's functions add their own types and errors."""

from __future__ import annotations

from typing import Any

from minitensor.engine.files import archive
from minitensor.engine.files.archive import Unreadable
from minitensor.engine.files.values import Decoder, Encoder, Extension


def save_to(op: str, value: Any, target: Any, extension: Extension, keeps_sharing: bool) -> None:
    """Write ``value`` into a path or an open file. The whole value is checked before anything is written.

    Raises:
        TypeError: if ``value`` contains anything but tensors and plain Python values.
        ValueError: if ``value`` contains an integer of over 4,000 digits.
    """
    encoder = Encoder(op, value, extension, keeps_sharing)
    archive.write(target, encoder.arrays, encoder.structure)


def load_from(source: Any, **how: Any) -> Any:
    """Return the value from a path or an open file. ``how`` are further arguments of :class:`Decoder`.

    Raises:
        OSError: if there is no such file.
        Unreadable: if :func:`save_to` did not write it, or if it is damaged.
    """
    arrays, structure = archive.read(source)
    try:
        return Decoder(arrays, structure, **how).all()
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise Unreadable(f"the structure of the file is invalid ({error}); nothing was loaded") from None
