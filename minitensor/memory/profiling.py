"""Measure the memory use of each line of a function: ``@memory.profile``.

    >>> @memory.profile
    ... def step(x, w):
    ...     h = x @ w
    ...     h.tanh_()
    ...     return h.sum()
    ...
    >>> loss = step(x, w)        # prints the table; `step.table` is the object

Profiling does not change values, versions, lifetimes, bytes or peak. Each event of the engine is counted for the
function's line that is running at that moment. The profiler uses no trace function (``sys.settrace``), because a trace
function would keep the variables of the function alive.
"""

from __future__ import annotations

import functools
import inspect
import keyword
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import CodeType, FunctionType, MethodType
from typing import Any

from minitensor.engine.checks import shown
from minitensor.engine.core.history import Node
from minitensor.engine.events import (
    AllocatorChanged,
    Event,
    FlightChanged,
    StorageCreated,
    StorageReleased,
    Subscription,
    TensorCreated,
    TensorWritten,
)
from minitensor.memory.changes import NewNodes, bytes_written, change_of, device_of, saved_by
from minitensor.memory.measuring import Bytes, name_of

#: The types of events that change the figures of a line.
_COUNTED = (StorageCreated, StorageReleased, FlightChanged, AllocatorChanged, TensorCreated, TensorWritten)

#: The text of the last row, which counts the events after the last line of the function, when its variables are freed.
RETURNED = "(on return)"


@dataclass
class ProfileRow:
    """One line of the profiled function, with the memory that it used.

    Attributes (bytes, unless stated otherwise):
        line: the number of the line in the file; None for the return, which frees the variables of the function.
        text: the source text of the line.
        allocations: the number of allocations.
        allocated: the increase of the allocated bytes; negative if the line freed more than it allocated.
        peak: the maximum of the allocated bytes while the line ran, minus the allocated bytes at the start of the
            function; None if the line allocated, freed and wrote nothing.
        written: the bytes written in place.
        saved: the bytes of the tensors that the line's operations saved for backward. Saving stores a reference, which
            allocates nothing, but prevents the tensor from being freed.
    """

    line: int | None
    text: str
    allocations: int = 0
    allocated: int = 0
    peak: int | None = None
    written: int = 0
    saved: int = 0

    def reach(self, level: int) -> None:
        """Raise the peak to ``level`` bytes if it is lower."""
        self.peak = level if self.peak is None else max(self.peak, level)


@dataclass
class Table:
    """The memory use of one call of a function on one device, line by line.

    Attributes:
        function, file: the names of the function and of the file that defines it; ``file`` is empty if unknown.
        device: the device whose bytes are counted.
        rows: one row for every line of the function (without a source text, for every line with an event), and a last
            row for the return. The row of a line that runs several times has the sums and the highest peak.
        total: the figures of the whole call.
        error: the error that ended the call, as text; empty if the call returned.
    """

    function: str
    file: str
    device: str
    rows: list[ProfileRow]
    total: Bytes = field(default_factory=Bytes)
    error: str = ""

    def __str__(self) -> str:
        heads = ["line", "allocations", "allocated", "peak", "written", "saved"]
        cells = [_cells(row) for row in self.rows]
        total = ["", _number(self.total.allocations), f"{self.total.allocated:+,}", f"{self.total.peak:,}"]
        total += [_number(sum(row.written for row in self.rows)), _number(sum(row.saved for row in self.rows))]
        table = [heads, *cells, total]
        widths = [max(len(row[i]) for row in table) for i in range(len(heads))]
        texts = ["", *(row.text for row in self.rows), "in all"]
        where = f", {self.file}" if self.file else ""
        lines = [f"{self.function}{where}: bytes on {self.device}"]
        for row, text in zip(table, texts, strict=True):
            figures = "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
            lines.append(f"{figures}  {text}".rstrip())
        if self.error:
            lines.append(f"ended by {self.error}")
        return "\n".join(lines)


def _cells(row: ProfileRow) -> list[str]:
    line = "" if row.line is None else str(row.line)
    allocated = f"{row.allocated:+,}" if row.allocated else ""
    peak = "" if row.peak is None else f"{row.peak:,}"
    return [line, _number(row.allocations), allocated, peak, _number(row.written), _number(row.saved)]


def _number(value: int) -> str:
    return f"{value:,}" if value else ""


class LineProfiler(Subscription):
    """Count the memory that the engine's events report for each line of a function. The result is in ``table``."""

    def __init__(self, name: str, code: CodeType, device: str) -> None:
        self._codes = frozenset(_with_inner(code))
        self._nodes = NewNodes()
        lines = _source(code)
        file = os.path.basename(code.co_filename) if os.path.exists(code.co_filename) else ""
        self.table = Table(name.replace("<locals>.", ""), file, device, [*lines.values(), ProfileRow(None, RETURNED)])
        self._rows: dict[int | None, ProfileRow] = {None: self.table.rows[-1]}
        self._rows.update(lines.items())

    def on_event(self, event: Event) -> None:
        """Count an event for the line that is running."""
        if type(event) not in _COUNTED:
            return
        table = self.table
        row = self._row()
        change = change_of(event)
        if change is not None and change.device == table.device:
            row.reach(table.total.allocated)
            table.total.add(change)
            row.reach(table.total.allocated)
            row.allocated += change.nbytes
            row.allocations += change.is_allocation
        if isinstance(event, TensorWritten) and device_of(event.tensor._storage) == table.device:
            row.reach(table.total.allocated)
            row.written += bytes_written(event.tensor, event.where)
        self._count_saved(self._nodes.late(event))
        self._count_saved(self._nodes.on_event(event, row))

    def _count_saved(self, found: list[tuple[Node, ProfileRow]]) -> None:
        for node, row in found:
            here = [saved.array for saved in saved_by(node) if device_of(saved.storage) == self.table.device]
            row.saved += sum({id(array): array.nbytes for array in here}.values())

    def close(self) -> None:
        """Unsubscribe from the engine's events."""
        self._count_saved(self._nodes.late())
        super().close()

    def _row(self) -> ProfileRow:
        """Return the row of the function's line that is running. In a recursion, this is the line of the innermost
        call.

        If none of the function's lines is running, return the row of the return.
        """
        frame: Any = sys._getframe(2)
        while frame is not None and frame.f_code not in self._codes:
            frame = frame.f_back
        line = None if frame is None else frame.f_lineno
        row = self._rows.get(line)
        if row is None:  # the line's source text is unknown
            row = self._rows[line] = ProfileRow(line, "")
            self.table.rows.insert(-1, row)
            self.table.rows[:-1] = sorted(self.table.rows[:-1], key=lambda row: row.line or 0)
        return row


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of a function, and of the functions and comprehensions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_inner(constant)


def _source(code: CodeType) -> dict[int, ProfileRow]:
    """Return a row for each line of the function's source text, keyed by line number; {} if there is no source."""
    try:
        lines, first = inspect.getsourcelines(code)
    except (OSError, TypeError, SyntaxError):
        return {}
    body = [line.rstrip() for line in lines]
    margin = min((len(line) - len(line.lstrip()) for line in body if line), default=0)
    return {first + i: ProfileRow(first + i, line[margin:]) for i, line in enumerate(body)}


# ---------- the decorator ----------

_NOT_FUNCTIONS = (
    (inspect.isgeneratorfunction, "a generator function: its lines run inside the loop of its caller"),
    (inspect.isasyncgenfunction, "an asynchronous generator"),
    (inspect.iscoroutinefunction, "a coroutine function: other work may run between its lines"),
)


def profile(function: Callable[..., Any] | None = None, /, *, device: Any = None, show: bool = True) -> Any:
    """Wrap ``function`` so that each call prints a table of the memory use of its lines.

    The wrapped function has an attribute ``table``: the :class:`Table` of the last call, or None before the first call.
    If a call raises an error, the table covers the events up to the error, which is then raised as usual. Recursive
    calls are counted in the table of the outermost call. The memory that other functions use is counted for the lines
    that call them.

    Args:
        function: a Python function or method. If it is omitted, as in ``@profile(show=False)``, the result is a
            decorator.
        device: the device whose bytes are counted; by default, the device for new tensors when the call begins.
        show: True to print the table after each call.

    Raises:
        TypeError: if ``function`` is not a function with lines to count, but a class, a function written in C, a
            generator function, a coroutine function, an asynchronous generator, a ``staticmethod`` or a
            ``classmethod``.
    """
    if function is None:
        return functools.partial(profile, device=device, show=show)
    inner = _function_of(function)
    running: list[LineProfiler] = []

    @functools.wraps(function)
    def profiled(*args: Any, **kwargs: Any) -> Any:
        arguments, names = [*args, *kwargs.values()][::-1], tuple(kwargs)
        del args, kwargs
        call = _forwarding(len(arguments) - len(names), names)
        if running:
            return call(function, arguments)
        watcher = LineProfiler(inner.__qualname__, inner.__code__, name_of("profile", device))
        profiled.table = watcher.table  # type: ignore[attr-defined]  # a function's attribute
        running.append(watcher)
        watcher.open()
        try:
            return call(function, arguments)
        except BaseException as error:
            watcher.table.error = f"{type(error).__name__}: {error}"
            raise
        finally:
            running.clear()
            watcher.close()
            if show:
                print(watcher.table)

    profiled.table = None  # type: ignore[attr-defined]  # a function's attribute
    return profiled


def _function_of(function: Any) -> FunctionType:
    if isinstance(function, (staticmethod, classmethod)):
        raise TypeError(f"profile: write @{type(function).__name__} above @memory.profile, not below it.")
    inner = inspect.unwrap(function) if callable(function) else function
    if isinstance(inner, MethodType):
        inner = inner.__func__
    if not isinstance(inner, FunctionType):
        raise TypeError(f"profile: the argument must be a function written in Python, not {_describe(function)}.")
    for is_kind, what in _NOT_FUNCTIONS:
        if is_kind(inner):
            raise TypeError(
                f"profile: {inner.__name__} is {what}. Profile the function that runs it to its end, or measure a "
                f"region of it with `memory.measure()`."
            )
    return inner


def _describe(what: Any) -> str:
    if isinstance(what, type):
        return f"the class {what.__name__} (profile its methods)"
    return f"{getattr(what, '__name__', None) or shown(what)} of type {type(what).__name__}"


@functools.cache
def _forwarding(count: int, names: tuple[str, ...]) -> Callable[..., Any]:
    """Return a function ``call(function, arguments)``, which passes all entries of the list ``arguments`` to
    ``function``.

    ``call`` removes them from the list, which is in reverse order. The last ``count`` entries are passed by position,
    the others as the keyword arguments ``names``. During the call, neither the list nor the profiler refers to an
    argument, so an argument that the function deletes is freed at once, as without the profiler.
    """
    if not all(name.isidentifier() and not keyword.iskeyword(name) for name in names):
        return lambda function, arguments: function(
            *[arguments.pop() for _ in range(count)], **{name: arguments.pop() for name in names}
        )
    given = ", ".join(["arguments.pop()"] * count + [f"{name}=arguments.pop()" for name in names])
    # The text contains only names, which were checked above.
    return eval(f"lambda function, arguments: function({given})", {"__package__": __package__})
