"""What each line of a function does to memory: ``@memory.profile``.

    >>> @memory.profile
    ... def step(x, w):
    ...     h = x @ w
    ...     h.tanh_()
    ...     return h.sum()
    ...
    >>> loss = step(x, w)        # prints the table; step.table has it as an object

The function runs as it would unwatched: the same values, versions, lifetimes, bytes and peak. Its lines are not traced
(a trace function would keep its variables alive): each event of the engine is booked on the line that runs then.
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

from minitensor.core.history import Node
from minitensor.events import Hearing
from minitensor.memory.changes import NewNodes, bytes_written, change_told, device_of, kept_by
from minitensor.memory.measuring import Bytes, name_of

#: The text of the row for what happened when the function's lines were done.
RETURNED = "(on return)"


@dataclass
class Row:
    """One line of the function.

    Attributes (bytes, unless said otherwise):
        line: its number in the file; None for what happened on return: variables of the function were freed.
        text: the line itself, without its line break.
        allocations: how many allocations it made (a number).
        allocated: what it added to the allocated bytes; negative when it freed more.
        peak: the most that was allocated while it ran, above the start of the function; None where nothing happened.
        written: what it wrote in place.
        saved: the sizes of the tensors that its operations saved for backward. Saving is by reference: it takes no
            memory, but keeps what is saved from being freed.
    """

    line: int | None
    text: str
    allocations: int = 0
    allocated: int = 0
    peak: int | None = None
    written: int = 0
    saved: int = 0

    def reach(self, level: int) -> None:
        """So many bytes were allocated at some moment."""
        self.peak = level if self.peak is None else max(self.peak, level)


@dataclass
class Table:
    """What one call of a function did to the memory of one device, line by line.

    Attributes:
        function, file: what was called, and where it is written; an empty file when that is not known.
        device: whose bytes these are.
        rows: every line of the function, and a last row for what happened on return. A line that runs often has one
            row, with the sums and the highest peak.
        total: the figures of the whole call.
        error: the error that ended the call, in words; empty when it returned.
    """

    function: str
    file: str
    device: str
    rows: list[Row]
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


def _cells(row: Row) -> list[str]:
    line = "" if row.line is None else str(row.line)
    allocated = f"{row.allocated:+,}" if row.allocated else ""
    peak = "" if row.peak is None else f"{row.peak:,}"
    return [line, _number(row.allocations), allocated, peak, _number(row.written), _number(row.saved)]


def _number(value: int) -> str:
    return f"{value:,}" if value else ""


class Profile(Hearing):
    """Books what the engine tells on the lines of a function. ``table`` has the figures."""

    def __init__(self, name: str, code: CodeType, device: str) -> None:
        self._codes = frozenset(_with_inner(code))
        self._nodes = NewNodes()
        lines = _source(code)
        file = os.path.basename(code.co_filename) if os.path.exists(code.co_filename) else ""
        self.table = Table(name.replace("<locals>.", ""), file, device, [*lines.values(), Row(None, RETURNED)])
        self._rows: dict[int | None, Row] = {None: self.table.rows[-1]}
        self._rows.update(lines.items())

    def hear(self, kind: str, *arguments: Any) -> None:
        """What has happened: book it on the line that runs."""
        if kind not in ("alloc", "free", "flight", "block", "make", "write"):
            return
        table = self.table
        row = self._row()
        change = change_told(kind, arguments)
        if change is not None and change.device == table.device:
            row.reach(table.total.allocated)
            table.total.add(change)
            row.reach(table.total.allocated)
            row.allocated += change.nbytes
            row.allocations += change.made
        if kind == "write" and device_of(arguments[0]._storage) == table.device:
            row.reach(table.total.allocated)
            row.written += bytes_written(arguments[0], arguments[3])
        self._book_saved(self._nodes.late(kind, arguments))
        self._book_saved(self._nodes.told(kind, arguments, row))

    def _book_saved(self, found: list[tuple[Node, Row]]) -> None:
        for node, row in found:
            here = [kept.array for kept in kept_by(node) if device_of(kept.storage) == self.table.device]
            row.saved += sum({id(array): array.nbytes for array in here}.values())

    def close(self) -> None:
        """Listen no more."""
        self._book_saved(self._nodes.late())
        super().close()

    def _row(self) -> Row:
        """The row of the innermost line of the function that runs now."""
        frame: Any = sys._getframe(2)
        while frame is not None and frame.f_code not in self._codes:
            frame = frame.f_back
        line = None if frame is None else frame.f_lineno
        row = self._rows.get(line)
        if row is None:  # its source is not known
            row = self._rows[line] = Row(line, "")
            self.table.rows.insert(-1, row)
            self.table.rows[:-1] = sorted(self.table.rows[:-1], key=lambda row: row.line or 0)
        return row


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    """The code of a function, and of the functions and comprehensions that are written inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_inner(constant)


def _source(code: CodeType) -> dict[int, Row]:
    """A row for each line of the function's text, indented as little as possible; empty when there is no text."""
    try:
        lines, first = inspect.getsourcelines(code)
    except (OSError, TypeError, SyntaxError):
        return {}
    body = [line.rstrip() for line in lines]
    margin = min((len(line) - len(line.lstrip()) for line in body if line), default=0)
    return {first + i: Row(first + i, line[margin:]) for i, line in enumerate(body)}


# ---------- the decorator ----------

_NOT_FUNCTIONS = (
    (inspect.isgeneratorfunction, "a generator function: its lines run while somebody else's loop does"),
    (inspect.isasyncgenfunction, "an asynchronous generator"),
    (inspect.iscoroutinefunction, "a coroutine function: other work may run between its lines"),
)


def profile(function: Callable[..., Any] | None = None, /, *, device: Any = None, show: bool = True) -> Any:
    """A function that does what ``function`` does and prints a table of what each of its lines did to memory.

    The table of the last call is its attribute ``table`` (a :class:`Table`; None before the first call). When the call
    raises an error, the table tells what happened up to there, and the error passes on. Calls from inside a call
    (recursion) are booked in the table of the outermost one. What a function calls is booked on the line that calls it.

    Args:
        function: a Python function or method. Without it the answer is a decorator: ``@profile(show=False)``.
        device: whose bytes are told; by default the device where new tensors are made when the call begins.
        show: print the table after each call.

    Raises:
        TypeError: it is no function whose lines can be told: a class, a function written in C, a generator function,
            a coroutine function.
    """
    if function is None:
        return functools.partial(profile, device=device, show=show)
    inner = _function_of(function)
    running: list[Profile] = []

    @functools.wraps(function)
    def profiled(*args: Any, **kwargs: Any) -> Any:
        held, names = [*args, *kwargs.values()][::-1], tuple(kwargs)
        del args, kwargs
        call = _passing_on(len(held) - len(names), names)
        if running:
            return call(function, held)
        watcher = Profile(inner.__qualname__, inner.__code__, name_of("profile", device))
        profiled.table = watcher.table  # type: ignore[attr-defined]  # a function's attribute
        running.append(watcher)
        watcher.open()
        try:
            return call(function, held)
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
        raise TypeError(f"profile: a function written in Python is needed, not {_described(function)}.")
    for is_other, what in _NOT_FUNCTIONS:
        if is_other(inner):
            raise TypeError(
                f"profile: {inner.__name__} is {what}. Profile the function that runs it to its end, or measure a "
                f"region of it with `memory.measure()`."
            )
    return inner


def _described(what: Any) -> str:
    if isinstance(what, type):
        return f"the class {what.__name__} (profile its methods)"
    return f"{getattr(what, '__name__', repr(what))} of type {type(what).__name__}"


@functools.cache
def _passing_on(count: int, names: tuple[str, ...]) -> Callable[..., Any]:
    """Calls a function with what a list holds, the last first: ``count`` by position, the rest by name.

    Neither the list nor anybody else holds an argument during the call, so that one that the function drops is freed
    then, as it would be unwatched.
    """
    if not all(name.isidentifier() and not keyword.iskeyword(name) for name in names):
        return lambda function, held: function(
            *[held.pop() for _ in range(count)], **{name: held.pop() for name in names}
        )
    given = ", ".join(["held.pop()"] * count + [f"{name}=held.pop()" for name in names])
    return eval(f"lambda function, held: function({given})", {"__package__": __package__})  # names only, checked above
