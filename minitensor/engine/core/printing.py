"""Print tensors: the text that Paddle 2.6.2 prints, character for character.

    Tensor(shape=[2, 2], dtype=float32, place=Place(cpu), stop_gradient=True,
           [[1., 2.],
            [3., 4.]])

Guarantees

* The input is an array and the output is text. This module uses numpy, but not numpy's print options.
* The array is not changed. If it has more elements than ``threshold``, only the values that are shown are read.
* Arrays of bools, integers and floats (nan and infinities included) print in every shape, also without dimensions or
  elements.
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
    threshold: int = 1000  # an array with more elements than this is summarised
    edgeitems: int = 3  # elements shown at either end of a summarised dimension
    sci_mode: bool = False  # True prints floats as 1.00000000e+02
    linewidth: int = 80  # the largest number of characters of a line


_options = PrintOptions()


def set_printoptions(
    precision: int | None = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    sci_mode: bool | None = None,
    linewidth: int | None = None,
) -> None:
    """Set how tensors are printed from now on. If an argument is omitted or None, the option keeps its value.

    precision: digits after the decimal point of a float that is not whole. Default 8.
    threshold: an array with more elements than this is summarised. Default 1000.
    edgeitems: elements shown at either end of a dimension that is summarised, at least 1. Default 3.
    sci_mode: print floats in scientific notation. Default False.
    linewidth: characters after which a row continues on the next line. Default 80.

    Raises TypeError if a value is not an integer (sci_mode: not a bool) and ValueError if one is too small; then no
    option changes.
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
            chosen[name] = _check_int(name, value, smallest)
    if sci_mode is not None:
        if not isinstance(sci_mode, bool):
            raise TypeError(f"sci_mode must be True or False, not {_named(sci_mode)}")
        chosen["sci_mode"] = sci_mode
    _options = replace(_options, **chosen)


def format_tensor(array: np.ndarray, *, dtype_name: str, place: object, stop_gradient: bool, indent: int = 7) -> str:
    """Return the text of a tensor that holds the values of `array`, which may have any shape and any strides.

    dtype_name: the dtype as printed, "float32".
    place: the device of the tensor; its `str` is printed, "Place(cpu)".
    indent: spaces before the values; the default puts them under the word "shape".
    """
    shape = list(array.shape)
    head = f"Tensor(shape={shape}, dtype={dtype_name}, place={place}, stop_gradient={stop_gradient},"
    return f"{head}\n{' ' * indent}{_format_values(array, indent)})"


def _check_int(name: str, value: Any, smallest: int) -> int:
    if isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, not {_named(value)}")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {_named(value)}") from None
    if number < smallest:
        raise ValueError(f"{name} must be at least {smallest}, not {_named(number)}")
    return number


def _named(value: Any) -> str:
    """Return the text that errors show for a value: a plain value is shown shortened, any other value by its type.

    The package has functions for this, but this module imports nothing from the package.
    """
    if type(value) in (int, float, bool, str) and (type(value) is not int or abs(value) < 10**30):
        return repr(value)[:60]
    return f"a value of type {type(value).__name__}"


def _format_values(array: np.ndarray, indent: int) -> str:
    edges = _edges(array)
    shown = edges if array.size > _options.threshold else array
    texts = [_format_value(value) for value in shown.ravel().tolist()]
    if array.ndim == 0:
        return texts[0]

    # Paddle computes the width and the sign from the edges even if it prints every element, so a longer text in the
    # middle of a row exceeds the width: [1., 1., 1., 100000., 1., 1., 1.].
    width = max((len(_format_value(value)) for value in edges.ravel().tolist()), default=0)
    if (edges < 0).any():  # neither -0. nor nan is below zero
        below_zero = (shown < 0).ravel().tolist()
        texts = [
            text if below or len(text) >= width else " " + text for text, below in zip(texts, below_zero, strict=True)
        ]
    texts = [text.ljust(width) for text in texts]

    # Each value is counted with the ", " after it. The last value of a line has no space after it, and the innermost
    # bracket takes the place of this space, so only the outer brackets are subtracted.
    outer_brackets = array.ndim - 1
    per_line = max(1, (_options.linewidth - indent - outer_brackets) // (width + len(", ")))
    cut = [length > kept for length, kept in zip(array.shape, shown.shape, strict=True)]
    return _layout(np.array(texts, dtype=object).reshape(shown.shape), cut, indent, per_line)


def _edges(array: np.ndarray) -> np.ndarray:
    """Return the elements that a summary shows: the two ends of every long dimension."""
    edge = _options.edgeitems
    long = [axis for axis, length in enumerate(array.shape) if length > 2 * edge]
    if not long:
        return array
    ends = [*range(edge), *range(-edge, 0)]
    front = range(len(long))
    # Index only the long dimensions: an array may have 64 dimensions, but an index has at most 63 arrays.
    return np.moveaxis(np.moveaxis(array, long, front)[np.ix_(*[ends] * len(long))], front, long)


def _format_value(value: bool | int | float) -> str:
    if not isinstance(value, float):
        return str(value)
    if _options.sci_mode:
        return f"{value:.{_options.precision}e}"
    # A whole number prints all its digits and a bare point; infinity prints as "inf.".
    if value.is_integer() or abs(value) == float("inf"):
        return f"{value:.0f}."
    return f"{value:.{_options.precision}f}"


def _layout(texts: np.ndarray, cut: list[bool], indent: int, per_line: int) -> str:
    """Format an array of texts with brackets, commas and line breaks, starting `indent` spaces into its line.

    cut: for every dimension, True if "..." replaces its middle.
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
    # Rows are on consecutive lines; every further dimension adds one blank line between blocks.
    line_breaks = "\n" * max(1, texts.ndim - 1)
    return "[" + f",{line_breaks}{' ' * inner}".join(items) + "]"
