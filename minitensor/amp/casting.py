"""``auto_cast``: cast the operands of products to 16 bits, and those of sums, losses and some others to float32."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minitensor.engine import checks
from minitensor.engine.autocasting import NAMES, PADDLE, Casts, Context, Lists
from minitensor.engine.checks import shown
from minitensor.engine.dtypes import HALVES, bfloat16, dtype_of
from minitensor.engine.operations.operands import cast


class auto_cast(Context):  # noqa: N801  # Paddle's name
    """Cast operands in a block, ``with amp.auto_cast(): ...``, or in a function, ``@amp.auto_cast()``.

    Float64 operands, and all operands of in-place operations, are not cast. A parameter is cast again only after its
    version has changed. A product saves the cast copy for backward.

    Args:
        enable: False to cast nothing in the block, even if it is inside another ``auto_cast``.
        custom_white_list: names of further operations whose operands are cast to 16 bits.
        custom_black_list: names of further operations whose operands are cast to float32.
        level: "O1" casts by Paddle's lists and the two custom lists; "O0" casts nothing.
        dtype: "float16" or "bfloat16".
        use_promote: has no effect.

    Raises:
        ValueError: if ``level`` or ``dtype`` has another value, or if an operation is in both custom lists, or in one
            of them although its operands are never cast.
        ImportError: if ``dtype`` is bfloat16 and the package ml_dtypes is not installed.
    """

    __slots__ = ()

    def __init__(
        self,
        enable: bool = True,
        custom_white_list: Iterable[str] | None = None,
        custom_black_list: Iterable[str] | None = None,
        level: str = "O1",
        dtype: Any = "float16",
        use_promote: bool = True,
    ) -> None:
        enable = checks.flag("auto_cast", "enable", enable)
        checks.flag("auto_cast", "use_promote", use_promote)
        if checks.text("auto_cast", "level", level) in ("O2", "OD"):
            raise ValueError(
                f"auto_cast: level {shown(level)} is not part of minitensor, which has 'O0' and 'O1'. To compute "
                f"everything in 16 bits, convert the layer: `layer.to(dtype='float16')`."
            )
        if level not in ("O0", "O1"):
            raise ValueError(f"auto_cast: level must be 'O0' or 'O1', not {shown(level)}")
        wanted = dtype_of(dtype)
        if wanted.numpy not in HALVES:
            raise ValueError(f"auto_cast: dtype must be 'float16' or 'bfloat16', not {wanted.name!r}")
        lists = _lists(custom_white_list, custom_black_list)
        casts = Casts(wanted, lists, cast) if enable and level == "O1" else None
        super().__init__(casts)


def _lists(white: Iterable[str] | None, black: Iterable[str] | None) -> Lists:
    """Return Paddle's lists, changed by the two custom lists."""
    low, wide = _names("custom_white_list", white), _names("custom_black_list", black)
    if low & wide:
        raise ValueError(f"auto_cast: {', '.join(sorted(low & wide))} is in custom_white_list and in custom_black_list")
    if unknown := (low | wide) - NAMES:
        raise ValueError(
            f"auto_cast: {', '.join(map(repr, sorted(unknown)))} is never cast; a list may have "
            f"{', '.join(sorted(NAMES))}"
        )
    return Lists((PADDLE.low | low) - wide, (PADDLE.wide | wide) - low)


def _names(name: str, given: Iterable[str] | None) -> frozenset[str]:
    return frozenset(() if given is None else checks.elements("auto_cast", name, given, "names of operations", str))


amp_guard = auto_cast


def is_float16_supported(device: Any = None) -> bool:
    """Return True: on every device, minitensor computes float16 operations in float32 and rounds the results."""
    return True


def is_bfloat16_supported(device: Any = None) -> bool:
    """True if the package ml_dtypes is installed."""
    return bfloat16.is_available
