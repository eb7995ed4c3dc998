"""The modes of each thread: grad mode, inference mode, automatic casts and the in-place policy.

As in PyTorch, every thread has its own modes. It begins with grad mode on and the policy "2.6".
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from minitensor.engine import checks
from minitensor.engine.checks import shown

Function = TypeVar("Function", bound=Callable[..., Any])

#: The action of each policy if an in-place operation overwrites a value that its own backward needs. If another
#: operation saved the value, "copy_on_write" preserves it, and under "2.5" and "2.6" that operation's backward raises.
POLICIES = {
    "2.5": "refuse the operation",
    "2.6": "copy the input first",
    "copy_on_write": "preserve every byte that some backward still needs",
}
DEFAULT_POLICY = "2.6"


class ThreadCounter:
    """A counter of threads. :data:`paused` counts those that do not record, :data:`casting` those that cast operands.

    An operation tests ``threads`` first, which takes 5 ns. If the number is above 0, the operation also reads the modes
    of its thread, which takes 70 ns.
    """

    __slots__ = ("threads",)

    def __init__(self) -> None:
        self.threads = 0


paused, casting = ThreadCounter(), ThreadCounter()


class _CountedThread:
    """Counts a thread in :data:`paused` or :data:`casting` as long as the modes of the thread refer to this object."""

    __slots__ = ("_counter",)

    def __init__(self, counter: ThreadCounter) -> None:
        self._counter = counter
        counter.threads += 1

    def __del__(self) -> None:
        self._counter.threads -= 1


class Modes(threading.local):
    """The modes of one thread.

    Attributes:
        grad: true if operations are recorded.
        policy: one of :data:`POLICIES`.
        layer: the name of the user-defined operation whose forward is running; empty if none is.
        inference: true in PyTorch's inference mode, in which minitensor only stops recording.
        casts: the automatic casts of operands (:mod:`minitensor.engine.autocasting`).
        cast_copies: the copies of parameters that :attr:`casts` made since the outermost context began.
    """

    grad: bool = True
    policy: str = DEFAULT_POLICY
    layer: str = ""
    inference: bool = False
    casts: Any = None
    cast_copies: dict[Any, Any] | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        values = self.__dict__  # `__dict__` is the dictionary of the current thread
        if name == "grad" and value is not self.grad:
            values["_pause"] = None if value else _CountedThread(paused)
        elif name == "casts":
            values["_casting"] = None if value is None else _CountedThread(casting)
        values[name] = value


modes = Modes()


class _GradMode:
    """Base class of the context managers and decorators that set grad mode to ``_inside``."""

    __slots__ = ("_before",)
    _inside: bool
    _before: Any

    def __enter__(self) -> None:
        # The previous values form a stack, because the blocks of one object may be nested.
        self._before = (modes.grad, getattr(self, "_before", None))
        modes.grad = self._inside

    def __exit__(self, *_: object) -> None:
        try:
            modes.grad, self._before = self._before
        except (AttributeError, TypeError):  # the attribute is missing, or None
            raise RuntimeError(f"{type(self).__name__}.__exit__: the context was not entered") from None

    def __call__(self, function: Function) -> Function:
        checks.function(type(self).__name__, "function", function)

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with type(self)():
                return function(*args, **kwargs)

        return inside  # type: ignore[return-value]  # it has the signature of `function`


class no_grad(_GradMode):
    """Record no operations inside: results require no gradient, and leaves may be written in place."""

    __slots__ = ()
    _inside = False

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        """Create the context manager, or decorate a function: ``@no_grad`` and ``@no_grad()`` both work."""
        context = super().__new__(cls)
        return context if function is None else context(function)


class enable_grad(_GradMode):
    """Record operations inside, even if the block is within a :class:`no_grad`."""

    __slots__ = ()
    _inside = True


def is_grad_enabled() -> bool:
    """True if operations are being recorded."""
    return modes.grad


class set_inplace_policy:
    """Set the policy for in-place operations that overwrite a value that a backward needs.

    The call takes effect at once. As a context manager, it restores the former policy at the end. A write follows the
    policy that is set when the write happens.

    Args:
        name: if the operation's own backward needs the value, ``"2.5"`` refuses the operation and ``"2.6"`` (the
            default) copies the value first. If another operation saved the value, that operation's backward raises
            under both policies. Under ``"copy_on_write"``, it does not raise: just before a write, the bytes that saved
            tensors need are copied.

    Raises:
        ValueError: if ``name`` is none of these.
    """

    __slots__ = ("_before", "_name")

    def __init__(self, name: str) -> None:
        if not isinstance(name, str) or name not in POLICIES:
            known = ", ".join(repr(policy) for policy in POLICIES)
            raise ValueError(f"set_inplace_policy: name must be one of {known}, not {shown(name)}")
        self._name = name
        self._before = modes.policy
        modes.policy = name

    def __enter__(self) -> None:
        modes.policy = self._name

    def __exit__(self, *_: object) -> None:
        modes.policy = self._before


def get_inplace_policy() -> str:
    """Return the name of the current policy."""
    return modes.policy
