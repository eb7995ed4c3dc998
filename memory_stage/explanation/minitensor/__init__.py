"""What the in-place operations of a program do, told one by one: ``minitensor.explain``.

    >>> def program():
    ...     x = mt.to_tensor([1.0, 2.0], stop_gradient=False) * 1
    ...     y = x * x
    ...     x.add_(1.0)
    ...
    >>> print(mt.explain(program))

Each row says what the operation's backward needs and why (it quotes the derivative table), what happened to memory,
which saved tensors became stale, and what would be cheaper or safer. Its verdict is one of a fixed few:
:class:`Verdict`. Nothing else decides whether an operation is free, copies, is refused or makes something stale.

May import: all that stands below ``explaining``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from memory_stage.explanation.minitensor.listening import Listener
from memory_stage.explanation.report import Report
from memory_stage.explanation.rows import Row
from memory_stage.explanation.verdicts import Verdict
from minitensor.engine.events import watching
from minitensor.memory.reachable_names import in_reach, others_in_reach

watching.add(__name__)

#: Of a program whose tensors are none of this package's.
ELSEWHERE = (
    "The program is one of {0}, and this report hears minitensor's own operations only: "
    "`memory_stage.explain(function, ...)`, called alike, reports of those of {0}."
)

__all__ = ["Listener", "Report", "Row", "Verdict", "explain"]


def explain(function: Callable[..., Any], /, *args: Any, catch: bool = False, **kwargs: Any) -> Report:
    """Call ``function(*args, **kwargs)`` and report each of its in-place operations, in order.

    Of a program of PyTorch or Paddle it says that ``memory_stage.explain``, called alike, reports of that.

    The program runs as it would unwatched: the same values, versions, lifetimes, bytes and peak. What it returns is
    let go; the report keeps no tensor alive.

    Args:
        catch: return the report when the program raises an error, which is in ``report.error`` without its traceback.

    Raises:
        whatever the program raises, unless ``catch`` is True. The report is then in the error's attribute
        ``explained``. Either way the error is told in the report, at the operation that raised it.
    """
    listener = Listener(in_reach(function, args, kwargs))
    try:
        with listener:
            function(*args, **kwargs)
    except BaseException as error:
        if not (catch and isinstance(error, Exception)):
            with contextlib.suppress(AttributeError, TypeError):
                error.explained = listener.report  # type: ignore[attr-defined]  # a tool finds the report there
            raise
        listener.report.error = _without_traceback(error)
    finally:
        others = "" if listener.report.totals.operations else others_in_reach(function, args, kwargs)
        if others:
            listener.report.cut_short = ELSEWHERE.format(others)
    return listener.report


def _without_traceback(error: Exception) -> Exception:
    """The error; its frames, which would keep the program's tensors alive, are let go."""
    each: BaseException | None = error
    while each is not None:
        each.__traceback__ = None
        each = each.__cause__ or each.__context__
    return error
