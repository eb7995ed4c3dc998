"""Paddle's static and dynamic mode. In minitensor every operation runs when it is called."""

from __future__ import annotations

from typing import Any

from minitensor.engine.checks import shown
from minitensor.engine.device.places import set_device
from minitensor.engine.modes import modes


def disable_static(place: Any = None) -> None:
    """Call ``set_device(place)`` if ``place`` is given. The mode is always dynamic.

    Raises:
        ValueError: if there is no such device.
    """
    if place is not None:
        set_device(place)


def enable_static() -> None:
    """Raise an error, because there is no static mode.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError(
        "enable_static: there is no static graph; every operation runs when it is called, and in-place operations "
        "behave as in Paddle's dynamic graph. Leave the call out."
    )


def in_dynamic_mode() -> bool:
    """Return True: operations run when they are called."""
    return True


class set_grad_enabled:
    """Switch the recording of operations on or off immediately.

    Used as a context manager, it restores the former mode at the end.

    Raises:
        TypeError: if ``mode`` is not a bool.
    """

    __slots__ = ("_before", "_mode")

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError(f"set_grad_enabled takes True or False, not {shown(mode)}")
        self._mode, self._before = mode, modes.grad
        modes.grad = mode

    def __enter__(self) -> None:
        modes.grad = self._mode

    def __exit__(self, *_: object) -> None:
        modes.grad = self._before
