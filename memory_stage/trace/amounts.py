"""Format amounts of bytes and cells in the units that reports, sentences and pictures share."""

from __future__ import annotations

from memory_stage.messages import Text, plural

_UNITS = ("B", "KiB", "MiB", "GiB")


def bytes_shown(count: int) -> str:
    """Return ``36 B``; from 1,024 bytes on in KiB, MiB or GiB with one decimal, as pictures do."""
    if count < 1024:
        return f"{count:,} B"
    power = min(3, (int(count).bit_length() - 1) // 10)
    unit = 1024**power
    tenths = (20 * count + unit) // (2 * unit)  # halves are rounded up, as in JavaScript
    return f"{tenths // 10}.{tenths % 10} {_UNITS[power]}"


def bytes_text(count: int) -> str:
    """Return ``1 byte`` or ``36 bytes``; from 1,024 bytes on ``16.0 MiB``, as in the picture beside the sentence."""
    return str(bytes_message(count))


def bytes_message(count: int) -> Text:
    """Return the text of :func:`bytes_text` as a message, for a sentence in any language."""
    return plural("{count} byte", "{count} bytes", count, count=f"{count:,}") if count < 1024 else bytes_shown(count)


def count_of(count: int, thing: str) -> str:
    """Return ``1 cell``, or ``2 cells``."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"
