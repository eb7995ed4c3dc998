"""Check that an error names the argument that is wrong, and that it is not an internal error of numpy or Python."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

#: Phrases in errors of numpy and Python, which appear if the engine does not check its input.
INTERNAL_PHRASES = [
    "ufunc",
    "core dimension",
    "inhomogeneous",
    "has no len",
    "is not iterable",
    "invalid literal",
    "unsupported operand",
    "not supported between",
    "object has no attribute",
    "object is not callable",
    "unhashable",
    "DType",
    "numpy.dtypes",
    "SeedSequence",
    "which has no identity",
    "newaxis",
    "_ARRAY_API",
    "__index__",
    "array split",
    "could not broadcast",
    "keyword argument repeated",
]


def expect_named(
    call: Callable[[], object], *given: str, error: type | tuple[type, ...] = (ValueError, TypeError, IndexError)
) -> None:
    """Assert that the error of ``call()`` matches all patterns in ``given`` and has no phrase of numpy or Python."""
    with pytest.raises(error) as raised:
        call()
    text = str(raised.value)
    for name in given:
        assert re.search(name, text), f"{name!r} is missing in: {text}"
    for phrase in INTERNAL_PHRASES:
        assert phrase not in text, text


def label(value: object) -> str:
    """Return a text that stands for a value in a test's name. It has no address, so it is the same in every process."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))
