"""Print tensors character for character as PyTorch does.

    tensor([[ 0.1235, 100.5000],
            [ 2.0000,  -3.0000]], grad_fn=<MulBackward0>)

The rules are those of PyTorch's ``torch/_tensor_str.py``. Numbers have four decimals, or exponents if they differ
widely. A large tensor is summarized: only the ends of each dimension are printed. After the numbers, the text contains
the device, the size and the dtype if they are unusual, and the function that computed the tensor.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.dtypes import FLOATS


@dataclass
class Options:
    """Print options; see :func:`set_printoptions`."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


options = Options()

#: The largest precision. A float has fewer than 800 decimal digits that are not 0.
MOST_DIGITS = 1000

_PROFILES = {"default": Options(), "short": Options(precision=2, edgeitems=2), "full": Options(threshold=math.inf)}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set the options with which tensors are printed from now on. An omitted option does not change, except that
    ``sci_mode`` becomes None.

    Args:
        precision: the number of digits after the decimal point, at first 4.
        threshold: a tensor with more elements than this is summarized, at first 1000.
        edgeitems: the number of elements that a summary shows at either end of a long dimension, at first 3.
        linewidth: the number of characters after which a row continues on the next line, at first 80.
        profile: a set of options, ``"default"``, ``"short"`` or ``"full"``. The other arguments override its options.
        sci_mode: True to print numbers with exponents, False to print them without exponents. If it is None, the
            numbers decide.

    Raises:
        ValueError: if there is no such profile.
    """
    op = "set_printoptions"
    given = {
        name: None if value is None else checks.integer(op, name, value, least=0)
        for name, value in (("precision", precision), ("edgeitems", edgeitems), ("linewidth", linewidth))
    }
    if given["precision"] is not None and given["precision"] > MOST_DIGITS:
        raise ValueError(f"{op}: precision must be at most {MOST_DIGITS} digits, not {given['precision']}")
    given["threshold"] = None if threshold is None else checks.real(op, "threshold", threshold)
    sci_mode = None if sci_mode is None else checks.flag(op, "sci_mode", sci_mode)
    if profile is not None:
        if not isinstance(profile, str) or profile not in _PROFILES:
            raise ValueError(
                f"set_printoptions: profile must be one of {', '.join(map(repr, _PROFILES))}, not "
                f"{checks.shown(profile)}"
            )
        vars(options).update(vars(_PROFILES[profile]))
    vars(options).update({name: value for name, value in given.items() if value is not None})
    options.sci_mode = sci_mode


@contextlib.contextmanager
def printoptions(**given: Any) -> Iterator[None]:
    """Print with other options inside the ``with`` block."""
    before = asdict(options)
    set_printoptions(**given)
    try:
        yield
    finally:
        vars(options).update(before)


class _Numbers:
    """The format of the numbers of one tensor. All numbers of a tensor are printed with the same width."""

    def __init__(self, shown: np.ndarray) -> None:
        self.floating = shown.dtype in FLOATS
        self.whole, self.exponents, self.width = True, False, 1
        if not self.floating:
            self.width = max([len(str(value)) for value in shown.ravel().tolist()], default=1)
            return
        finite = shown[np.isfinite(shown) & (shown != 0)]
        if finite.size == 0:
            return
        with np.errstate(all="ignore"):
            sizes = np.abs(finite).astype(np.float64)
            smallest, largest = sizes.min(), sizes.max()
            self.whole = bool((finite == np.ceil(finite)).all())
            self.exponents = bool(largest / smallest > 1000.0 or largest > 1.0e8 or smallest < 1.0e-4)
        if options.sci_mode is not None:
            self.exponents = options.sci_mode
        self.width = max(1, *(len(self._format(value)) for value in finite.tolist()))

    def _format(self, value: Any) -> str:
        if not self.floating:
            return str(value)
        if self.exponents:
            return f"{value:.{options.precision}e}"
        if self.whole:
            return f"{value:.0f}" + ("" if math.isinf(value) or math.isnan(value) else ".")
        return f"{value:.{options.precision}f}"

    def text(self, value: Any) -> str:
        """Return one number, padded with blanks on the left."""
        return self._format(value).rjust(self.width)


def _ends(array: np.ndarray) -> np.ndarray:
    """Return the elements that a summary shows."""
    edge = options.edgeitems
    for axis in range(array.ndim):
        if array.shape[axis] > 2 * edge:
            before = (slice(None),) * axis
            first = array[(*before, slice(0, edge))]
            last = array[(*before, slice(array.shape[axis] - edge, None))]
            array = np.concatenate([first, last], axis)
    return array


def _row(array: np.ndarray, indent: int, summary: bool, numbers: _Numbers) -> str:
    edge = options.edgeitems
    per_line = max(1, (options.linewidth - indent) // (numbers.width + 2))
    if summary and not edge:
        data = ["..."]
    elif summary and len(array) > 2 * edge:
        data = [numbers.text(v) for v in array[:edge].tolist()]
        data += [" ...", *(numbers.text(v) for v in array[-edge:].tolist())]
    else:
        data = [numbers.text(v) for v in array.tolist()]
    lines = [", ".join(data[i : i + per_line]) for i in range(0, len(data), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _nest(array: np.ndarray, indent: int, summary: bool, numbers: _Numbers) -> str:
    if array.ndim == 0:
        return numbers.text(array.item())
    if array.ndim == 1:
        return _row(array, indent, summary, numbers)
    edge = options.edgeitems
    parts: list[Any] = list(range(len(array)))
    if summary and len(array) > 2 * edge:
        parts = [*parts[:edge], None, *parts[len(array) - edge :]]
    texts = ["..." if i is None else _nest(array[i], indent + 1, summary, numbers) for i in parts]
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(texts) + "]"


def text_of(array: np.ndarray, device: str, history: str, shape: tuple[int, ...]) -> str:
    """Return the text of a tensor.

    Args:
        array: the elements of the tensor, on the host.
        device: the name of the device, which is printed unless it is ``"cpu"``.
        history: ``"requires_grad=True"``, ``"grad_fn=<...>"``, or "".
        shape: the shape of the tensor, which is printed if the numbers do not show it.
    """
    prefix = "tensor("
    indent = len(prefix)
    name = array.dtype.name
    suffixes = [f"device='{device}'"] if device != "cpu" else []
    if array.size == 0:
        if array.ndim != 1:
            suffixes.append(f"size={tuple(shape)}")
        if name != "float32":
            suffixes.append(f"dtype=torch.{name}")
        text = "[]"
    else:
        if not options.edgeitems:
            suffixes.append(f"size={tuple(shape)}")
        if name not in ("float32", "int64", "bool"):
            suffixes.append(f"dtype=torch.{name}")
        summary = array.size > options.threshold
        shown = (_ends(array) if options.edgeitems else array[:0].ravel()) if summary else array
        text = _nest(array, indent, summary, _Numbers(shown))
    if history:
        suffixes.append(history)
    return _append(prefix + text, suffixes, indent)


def _append(text: str, suffixes: list[str], indent: int) -> str:
    """Return the text with suffixes such as ``dtype=...``, on a new line if they do not fit, and a parenthesis."""
    pieces = [text]
    length = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if length + len(suffix) + 2 > options.linewidth:
            pieces.append(",\n" + " " * indent + suffix)
            length = indent + len(suffix)
        else:
            pieces.append(", " + suffix)
            length += len(suffix) + 2
    return "".join(pieces) + ")"
