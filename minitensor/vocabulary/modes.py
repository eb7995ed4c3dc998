"""Paddle's two ways to run a program. Here there is one: every operation runs when it is called."""

from __future__ import annotations

from typing import Any

from minitensor.device.places import set_device
from minitensor.modes import modes


def disable_static(place: Any = None) -> None:
    """Nothing: operations run when they are called, always. ``place`` is set with ``set_device``.

    Raises:
        ValueError: for a device that is not there.
    """
    if place is not None:
        set_device(place)


def enable_static() -> None:
    """Refused.

    Raises:
        RuntimeError: always. There is no static graph here.
    """
    raise RuntimeError(
        "enable_static: there is no static graph; every operation runs when it is called, and in-place operations are "
        "what they are in Paddle's dynamic graph. Leave the call out."
    )


def in_dynamic_mode() -> bool:
    """True: operations run when they are called."""
    return True


class set_grad_enabled:
    """Record operations, or do not. Works at once when called, and as a context manager puts back what was before.

    Raises:
        TypeError: if ``mode`` is neither True nor False.
    """

    __slots__ = ("_before", "_mode")

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError(f"set_grad_enabled takes True or False, not {mode!r}")
        self._mode, self._before = mode, modes.grad
        modes.grad = mode

    def __enter__(self) -> None:
        modes.grad = self._mode

    def __exit__(self, *_: object) -> None:
        modes.grad = self._before
