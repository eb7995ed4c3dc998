"""``auto_cast``: the operands of products in 16 bits, those of sums and losses in float32."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from minitensor.engine.autocasting import NAMES, PADDLE, Casts, Context, Lists
from minitensor.engine.dtypes import HALVES, bfloat16, dtype_of
from minitensor.engine.operations.operands import cast


class auto_cast:  # noqa: N801  # Paddle's name
    """Cast operands in a block, ``with amp.auto_cast(): ...``, or in a function, ``@amp.auto_cast()``.

    Operations in place and operands of float64 are not cast. A parameter is cast once for each of its versions, and
    that copy is what a product saves.

    Args:
        enable: False to cast nothing in the block, even within another context.
        custom_white_list: more operations that get 16 bits.
        custom_black_list: more operations that get float32.
        level: "O1"; "O0" casts nothing.
        dtype: "float16" or "bfloat16".

    Raises:
        ValueError: for another level or dtype, for an operation that is in both lists, or one that is never cast.
        ImportError: for bfloat16 without the package ml_dtypes.
    """

    __slots__ = ("_context",)

    def __init__(
        self,
        enable: bool = True,
        custom_white_list: Iterable[str] | None = None,
        custom_black_list: Iterable[str] | None = None,
        level: str = "O1",
        dtype: Any = "float16",
        use_promote: bool = True,
    ) -> None:
        if level in ("O2", "OD"):
            raise ValueError(
                f"auto_cast: level {level!r} is not part of minitensor, which has 'O0' and 'O1'. To compute "
                f"everything in 16 bits, convert the layer: `layer.to(dtype='float16')`."
            )
        if level not in ("O0", "O1"):
            raise ValueError(f"auto_cast: level is 'O0' or 'O1', not {level!r}")
        wanted = dtype_of(dtype)
        if wanted.numpy not in HALVES:
            raise ValueError(f"auto_cast: dtype is 'float16' or 'bfloat16', not {wanted.name!r}")
        casts = Casts(wanted, _lists(custom_white_list, custom_black_list), cast) if enable and level == "O1" else None
        self._context = Context(casts)

    def __enter__(self) -> None:
        self._context.__enter__()

    def __exit__(self, *error: object) -> None:
        self._context.__exit__(*error)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``function``, which runs inside the context."""
        return self._context.decorated(function)


def _lists(white: Iterable[str] | None, black: Iterable[str] | None) -> Lists:
    more, less = frozenset(white or ()), frozenset(black or ())
    if more & less:
        raise ValueError(
            f"auto_cast: {', '.join(sorted(more & less))} is in custom_white_list and in custom_black_list"
        )
    if unknown := (more | less) - NAMES:
        raise ValueError(
            f"auto_cast: {', '.join(map(repr, sorted(unknown)))} is never cast; a list may have "
            f"{', '.join(sorted(NAMES))}"
        )
    return Lists((PADDLE.low | more) - less, (PADDLE.wide | less) - more)


amp_guard = auto_cast


def is_float16_supported(device: Any = None) -> bool:
    """True: every device computes on float16 in float32."""
    return True


def is_bfloat16_supported(device: Any = None) -> bool:
    """True if the package ml_dtypes is installed."""
    return bfloat16.is_available
