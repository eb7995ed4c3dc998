"""The two switches that belong to a thread: grad mode and the in-place policy.

A thread begins with recording on and the policy "2.6", whatever the others do, as in PyTorch.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

#: What each policy does when an in-place operation overwrites what its own backward needs. What another operation saved
#: is preserved under "copy_on_write"; under the other two its backward will raise.
POLICIES = {
    "2.5": "refuse the operation",
    "2.6": "copy the input first",
    "copy_on_write": "preserve every byte that some backward still needs",
}
DEFAULT_POLICY = "2.6"


class Paused:
    """``threads``: in how many of them nothing is recorded.

    Operations ask this first: as long as it is 0 no thread has to look at modes of its own, which costs ten times as
    much as this (70 ns and 5).
    """

    __slots__ = ("threads",)

    def __init__(self) -> None:
        self.threads = 0


paused = Paused()


class _Pause:
    """Counts one thread in :data:`paused`, until it is dropped: at the end of the thread, at the latest."""

    __slots__ = ()

    def __init__(self) -> None:
        paused.threads += 1

    def __del__(self, _paused: Paused = paused) -> None:
        _paused.threads -= 1


class Modes(threading.local):
    """Of each thread.

    Attributes:
        grad: whether operations are recorded.
        policy: one of :data:`POLICIES`.
        layer: the name of the user-defined operation whose forward runs; empty outside.
        inference: whether PyTorch's inference mode is on. Here it is another name for recording nothing.
    """

    grad: bool = True
    policy: str = DEFAULT_POLICY
    layer: str = ""
    inference: bool = False

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__  # that of the thread which asks
        if name == "grad" and value is not self.grad:
            own["_pause"] = None if value else _Pause()
        own[name] = value


modes = Modes()


class _GradMode:
    """A context manager and decorator that sets grad mode inside it."""

    __slots__ = ("_before",)
    _inside: bool
    _before: Any

    def __enter__(self) -> None:
        # A stack, so that one object may be entered again inside itself.
        self._before = (modes.grad, getattr(self, "_before", None))
        modes.grad = self._inside

    def __exit__(self, *_: object) -> None:
        modes.grad, self._before = self._before

    def __call__(self, function: Function) -> Function:
        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with type(self)():
                return function(*args, **kwargs)

        return inside  # type: ignore[return-value]  # it takes and gives what `function` does


class no_grad(_GradMode):
    """Inside, nothing is recorded: results want no gradient, and leaves may be written in place."""

    __slots__ = ()
    _inside = False

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        """``@no_grad`` and ``@no_grad()`` both decorate."""
        made = super().__new__(cls)
        return made if function is None else made(function)


class enable_grad(_GradMode):
    """Inside, operations are recorded, also within :class:`no_grad`."""

    __slots__ = ()
    _inside = True


def is_grad_enabled() -> bool:
    """Whether operations are being recorded."""
    return modes.grad


class set_inplace_policy:
    """Choose what happens when an in-place operation overwrites what a backward needs.

    Works at once when called, and as a context manager puts the former policy back at the end.
    The policy in force when the write happens decides.

    Args:
        name: ``"2.5"`` refuses the operation, ``"2.6"`` (the default) copies the input first; under both, the backward
            of another operation that had saved what is overwritten will raise. ``"copy_on_write"`` preserves just the
            bytes that a living saved tensor needs, just before they are written: no backward raises.

    Raises:
        ValueError: for any other name.
    """

    __slots__ = ("_before", "_name")

    def __init__(self, name: str) -> None:
        if not isinstance(name, str) or name not in POLICIES:
            known = ", ".join(repr(policy) for policy in POLICIES)
            raise ValueError(f"set_inplace_policy got {name!r}; the in-place policies are {known}")
        self._name = name
        self._before = modes.policy
        modes.policy = name

    def __enter__(self) -> None:
        modes.policy = self._name

    def __exit__(self, *_: object) -> None:
        modes.policy = self._before


def get_inplace_policy() -> str:
    """The name of the policy in force."""
    return modes.policy
