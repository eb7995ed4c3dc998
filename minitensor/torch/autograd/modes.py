"""Grad modes: switch the recording of operations on or off, in a block, in a function, or until the next switch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from minitensor.engine import checks
from minitensor.engine.modes import enable_grad, is_grad_enabled, modes, no_grad
from minitensor.paddle import modes as paddles

__all__ = ["enable_grad", "inference_mode", "is_grad_enabled", "no_grad", "set_grad_enabled"]


class set_grad_enabled(paddles.set_grad_enabled):
    """Switch the recording of operations on or off immediately.

    Used as a context manager, it restores the former mode at the end of the block. Used as a decorator, it switches the
    mode only inside the function.

    Raises:
        TypeError: if ``mode`` is not a bool.
    """

    __slots__ = ()

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError(f"set_grad_enabled(): argument 'mode' must be bool, not {type(mode).__name__}")
        super().__init__(mode)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        modes.grad = self._before  # undo the switch of `__init__`: a decorator affects only the function

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with set_grad_enabled(self._mode):
                return function(*args, **kwargs)

        return inside


class inference_mode(no_grad):
    """Record no operations, as ``no_grad`` does.

    Unlike PyTorch, minitensor still counts the versions of tensors in this mode. PyTorch refuses some uses of tensors
    that were created in this mode; ``memory-stage explain`` reports such uses.
    """

    __slots__ = ("_outside",)
    _outside: Any

    def __new__(cls, mode: Any = True) -> Any:
        """Return a context manager, or for ``@inference_mode`` the decorated function; for False, ``enable_grad()``."""
        if callable(mode):
            return cls()(mode)
        on = checks.flag("inference_mode()", "mode", mode)
        return super().__new__(cls) if on else enable_grad()

    def __enter__(self) -> None:
        super().__enter__()
        self._outside = (modes.inference, getattr(self, "_outside", None))
        modes.inference = True

    def __exit__(self, *_: object) -> None:
        super().__exit__(*_)
        modes.inference, self._outside = self._outside
