"""Explain each in-place operation of a program of minitensor: ``minitensor.explain``.

    >>> def program():
    ...     x = mt.to_tensor([1.0, 2.0], stop_gradient=False) * 1
    ...     y = x * x
    ...     x.add_(1.0)
    ...
    >>> print(mt.explain(program))

Each row names the tensors that the operation's backward needs and the reason (quoted from the derivative table), the
change of memory, the saved tensors that became stale, and a cheaper or safer way. Each row has a :class:`Verdict`: the
operation is free, copies, is refused, makes a saved tensor stale, and so on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from memory_stage.explanation.minitensor.listener import Listener
from memory_stage.explanation.report import Report
from memory_stage.explanation.report_rows import ReportRow
from memory_stage.explanation.verdict import Verdict
from memory_stage.messages import Text, message, render, speaking
from memory_stage.messages import language as chosen_language
from minitensor.engine.events import watching
from minitensor.memory.reachable_names import in_reach, others_in_reach

watching.add(__name__)

__all__ = ["Listener", "Report", "ReportRow", "Verdict", "explain"]


def explain(
    function: Callable[..., Any], /, *args: Any, catch: bool = False, language: str | None = None, **kwargs: Any
) -> Report:
    """Call ``function(*args, **kwargs)`` and report each of its in-place operations, in order.

    For a program of PyTorch or Paddle the report refers to ``memory_stage.explain``, which takes the same arguments.

    The program runs as it would unobserved: the same values, versions, lifetimes, bytes and peak. Its result is
    discarded, and the report keeps no tensor alive.

    Args:
        catch: if the program raises an error, return the report with the error in ``report.error``, without traceback.
        language: the language of the report, ``"en"`` or ``"zh"``; by default the one that
            ``memory_stage.set_language`` has set, or English.

    Raises:
        ValueError: if there is no such language.
        Any error of the program; if ``catch`` is True, only an error that is no ``Exception``, such as SystemExit. The
            attribute ``explained`` of the error is the report. The report has a row for the error.
    """
    chosen = chosen_language(language)
    listener = Listener(in_reach(function, args, kwargs))
    listener.report.language = chosen
    try:
        with speaking(chosen) if language else contextlib.nullcontext(), listener:
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
            listener.report.cut_short = render(_describe_other(others), chosen)
    return listener.report


def _describe_other(framework: str) -> Text:
    """Return the sentence about a program that uses another framework's tensors and none of minitensor's."""
    return message(
        "The program uses {framework}, and this report covers only minitensor's operations. "
        "`memory_stage.explain(function, ...)` takes the same arguments and reports the operations of {framework}.",
        framework=framework,
    )


def _without_traceback(error: Exception) -> Exception:
    """Return the error without its frames, which would keep the program's tensors alive."""
    each: BaseException | None = error
    while each is not None:
        each.__traceback__ = None
        each = each.__cause__ or each.__context__
    return error
