"""What a tensor looks like when it is printed: the text Paddle 2.6.2 prints, character for character.

    Tensor(shape=[2, 2], dtype=float32, place=Place(cpu), stop_gradient=True,
           [[1., 2.],
            [3., 4.]])

Promises

* An array goes in, text comes out. Only numpy is imported, and numpy's own print options play no part.
* The array is neither changed nor copied. Of a big array only the values that are shown are read.
* Bools, integers and floats print in every shape: no dimensions, no elements, nan and infinities included.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

__all__ = ["format_tensor", "set_printoptions"]


@dataclass(frozen=True)
class PrintOptions:
    precision: int = 8  # digits after the decimal point
    threshold: int = 1000  # elements; an array with more is summarised
    edgeitems: int = 3  # elements shown at either end of a summarised dimension
    sci_mode: bool = False  # floats as 1.00000000e+02
    linewidth: int = 80  # characters


_options = PrintOptions()


def set_printoptions(
    precision: int | None = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    sci_mode: bool | None = None,
    linewidth: int | None = None,
) -> None:
    """Set how tensors print from now on. What is left out, or None, stays as it is.

    precision: digits after the decimal point of a float that is not whole. Default 8.
    threshold: an array with more elements than this is summarised. Default 1000.
    edgeitems: elements shown at either end of a dimension that is summarised, at least 1. Default 3.
    sci_mode: print floats in scientific notation. Default False.
    linewidth: characters after which a row continues on the next line. Default 80.

    Raises TypeError for a value that is not an integer (sci_mode: not a bool) and ValueError for one that
    is too small; then nothing is set.
    """
    global _options
    chosen: dict[str, Any] = {}
    for name, value, smallest in (
        ("precision", precision, 0),
        ("threshold", threshold, 0),
        ("edgeitems", edgeitems, 1),
        ("linewidth", linewidth, 0),
    ):
        if value is not None:
            chosen[name] = _checked_int(name, value, smallest)
    if sci_mode is not None:
        if not isinstance(sci_mode, bool):
            raise TypeError(f"sci_mode is True or False, got {sci_mode!r}")
        chosen["sci_mode"] = sci_mode
    _options = replace(_options, **chosen)


def format_tensor(array: np.ndarray, *, dtype_name: str, place: object, stop_gradient: bool, indent: int = 7) -> str:
    """The text of a tensor that holds the values of `array`, which may have any shape and any strides.

    dtype_name: the dtype as it is to be printed, "float32".
    place: where the tensor lives; its `str` is printed, "Place(cpu)".
    indent: spaces before the values; the default puts them under the word "shape".
    """
    shape = list(array.shape)
    head = f"Tensor(shape={shape}, dtype={dtype_name}, place={place}, stop_gradient={stop_gradient},"
    return f"{head}\n{' ' * indent}{_format_values(array, indent)})"


def _checked_int(name: str, value: Any, smallest: int) -> int:
    if isinstance(value, bool):
        raise TypeError(f"{name} is an integer, got {value!r}")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is an integer, got {value!r}") from None
    if number < smallest:
        raise ValueError(f"{name} is at least {smallest}, got {number}")
    return number


def _format_values(array: np.ndarray, indent: int) -> str:
    edges = _edges(array)
    shown = edges if array.size > _options.threshold else array
    texts = [_format_value(value) for value in shown.ravel().tolist()]
    if array.ndim == 0:
        return texts[0]

    # Paddle takes the width and the sign from the edges even where it prints everything, so that a longer
    # text in the middle of a row stands out: [1., 1., 1., 100000., 1., 1., 1.].
    width = max((len(_format_value(value)) for value in edges.ravel().tolist()), default=0)
    if (edges < 0).any():  # neither -0. nor nan is below zero
        below_zero = (shown < 0).ravel().tolist()
        texts = [
            text if below or len(text) >= width else " " + text for text, below in zip(texts, below_zero, strict=True)
        ]
    texts = [text.ljust(width) for text in texts]

    # A value takes its width and ", "; the space that ends no line makes up for the innermost bracket.
    outer_brackets = array.ndim - 1
    per_line = max(1, (_options.linewidth - indent - outer_brackets) // (width + len(", ")))
    cut = [length > kept for length, kept in zip(array.shape, shown.shape, strict=True)]
    return _layout(np.array(texts, dtype=object).reshape(shown.shape), cut, indent, per_line)


def _edges(array: np.ndarray) -> np.ndarray:
    """The elements that a summary shows: of every long dimension those at its two ends."""
    edge = _options.edgeitems
    long = [axis for axis, length in enumerate(array.shape) if length > 2 * edge]
    if not long:
        return array
    ends = [*range(edge), *range(-edge, 0)]
    front = range(len(long))
    # Only the long dimensions are indexed, since numpy takes fewer index arrays than an array has dimensions.
    return np.moveaxis(np.moveaxis(array, long, front)[np.ix_(*[ends] * len(long))], front, long)


def _format_value(value: bool | int | float) -> str:
    if not isinstance(value, float):
        return str(value)
    if _options.sci_mode:
        return f"{value:.{_options.precision}e}"
    # A whole number keeps all its digits and a bare point, and so does infinity: "inf.".
    if value.is_integer() or abs(value) == float("inf"):
        return f"{value:.0f}."
    return f"{value:.{_options.precision}f}"


def _layout(texts: np.ndarray, cut: list[bool], indent: int, per_line: int) -> str:
    """Brackets, commas and line breaks around an array of texts that begins `indent` spaces into its line.

    cut: for every dimension, whether "..." stands for its middle.
    """
    inner = indent + len("[")
    if texts.ndim == 1:
        items = texts.tolist()
    else:
        items = [_layout(block, cut[1:], inner, per_line) for block in texts]
    if cut[0]:
        items.insert(len(items) // 2, "...")

    if texts.ndim == 1:
        items = [", ".join(items[start : start + per_line]) for start in range(0, len(items), per_line)]
    # Rows follow each other line by line; every further dimension puts one more blank line between blocks.
    line_breaks = "\n" * max(1, texts.ndim - 1)
    return "[" + f",{line_breaks}{' ' * inner}".join(items) + "]"
