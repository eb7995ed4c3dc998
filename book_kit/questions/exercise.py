"""Exercises that check the reader's function and describe the first difference in plain words.

* `check` returns a report and never raises an error for the reader's code, so an unfinished exercise does not stop the
  notebook.
* `require` does the same check and raises an error if anything differs, so the book can be built only if the hidden
  solution passes.
* A report on a difference contains the arguments and, if the results differ, the expected and the actual result. It
  does not reveal the solution.

An exercise consists of three cells. The first has the tests (tag `remove-cell`). The second has the unfinished
function, which the reader edits, and its check. The third (tag `hide-cell`) has the solution under another name, and
`require` with the same tests::

    halved_tests = dict(cases=[(mt.ones([3]),), (mt.zeros([2, 2]),)], against=lambda x: x.scale_(0.5))

    def halved(x):
        ...  # your code

    check(halved, **halved_tests)

    def halved_solution(x):
        return x.scale_(0.5)

    require(halved_solution, **halved_tests)
"""

from __future__ import annotations

import copy
import html
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from memory_stage.messages import Text, message, plural, said, sentences
from memory_stage.web.embed import page_assets, prose

Case = tuple | Callable[[], tuple | AbstractContextManager[tuple]]
MOST_CHARACTERS = 300  # longer values are cut in a report


@dataclass(frozen=True)
class ExerciseReport:
    """The verdict on a function: all cases passed, or a description of the first case that failed.

    The report contains only text and numbers, so it keeps no tensor alive.
    """

    name: str
    cases: int
    right: int  # the number of cases that passed before the first difference
    reason: str = ""  # empty if all cases passed
    given: str = ""
    expected: str = ""
    got: str = ""

    @property
    def passed(self) -> bool:
        """True if all cases passed."""
        return not self.reason

    def __str__(self) -> str:
        lines = [said(sentences([self._word(), self._verdict()]))]
        for label, value in self._values():
            lines.append(f"  {label:<10}" + value.replace("\n", "\n" + " " * 12))
        return "\n".join(lines)

    def as_data(self) -> dict[str, Any]:
        """Return the report as plain data for a page."""
        return {"passed": self.passed, "word": self._word(), "verdict": self._verdict(), "values": self._values()}

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        values = "".join(
            f"<dt>{label}</dt><dd><code>{html.escape(value)}</code></dd>" for label, value in self._values()
        )
        mark, kind = ("✓", " mt-right") if self.passed else ("○", "")
        page = (
            f'<div class="mt-note mt-check{kind} mathjax_ignore">\n'
            f'<p><strong><span aria-hidden="true">{mark}</span> {self._word()}</strong> '
            f"{prose(self._verdict())}</p>\n" + (f"<dl>{values}</dl>\n" if values else "") + "</div>"
        )
        return {"text/plain": str(self), "text/html": page_assets("quiz.css", package="book_kit.web") + page}

    def _word(self) -> str:
        return said(message("Right.") if self.passed else message("Not yet."))

    def _verdict(self) -> str:
        if self.passed:
            name, cases = self.name, self.cases
            return said(plural("`{name}` passes its case.", "`{name}` passes all {count} cases.", cases, name=name))
        if self.cases == 1:
            return said(message("`{name}`: {reason}", name=self.name, reason=self.reason))
        return said(
            message(
                "`{name}`, case {number} of {count}: {reason}",
                name=self.name,
                number=self.right + 1,
                count=self.cases,
                reason=self.reason,
            )
        )

    def _values(self) -> list[tuple[str, str]]:
        values = [(message("given"), self.given), (message("expected"), self.expected), (message("got"), self.got)]
        return [(said(label), value) for label, value in values if value]


def check(
    function: Callable,
    cases: Sequence[Case],
    against: Callable | Sequence[Any] | None = None,
    *,
    that: Mapping[str, Callable[..., Any]] | None = None,
) -> ExerciseReport:
    """Compare a reader's function with the expected results, case by case. Call this in the last line of a cell.

    Shapes, dtypes, stop_gradient and integers are compared exactly, and floats with a relative tolerance of 1e-5 and an
    absolute tolerance of 1e-6. If the reader's function raises an error, the report shows it.

    Args:
        function: the reader's function.
        cases: the arguments of each call as a tuple. A tuple is copied deeply before each call, so that one call cannot
            affect the next. If a deep copy would lose something (such as the base of a view), pass a function instead
            of a tuple. The function returns the tuple, or a context manager that yields the tuple and is open during
            the call (for example to measure the call).
        against: the expected results, one for each case, or a function that computes them. If it is a function,
            `check` also compares the arguments after the call and the type of an error. If one of
            the two functions returns an argument itself, the other must do the same.
        that: further conditions, such as `{"the result shares the memory of `x`": lambda result, x: ...}`. The key is
            the statement for the report. The value is a function that gets the result, and the arguments after the
            call. It returns True if the statement is true.

    Raises:
        TypeError: if a case is neither a tuple nor a function.
        ValueError: if there is no case or nothing to compare with, or if the number of expected results is wrong.
    """
    _refuse_empty_exercise(cases, against, that)
    name = getattr(function, "__name__", said(message("your object")))
    for index, case in enumerate(cases):
        given, difference = _first_difference(function, case, index, against, that or {})
        if difference:
            return ExerciseReport(name, len(cases), index, given=given, **difference)
    return ExerciseReport(name, len(cases), len(cases))


def require(
    function: Callable,
    cases: Sequence[Case],
    against: Callable | Sequence[Any] | None = None,
    *,
    that: Mapping[str, Callable[..., Any]] | None = None,
) -> ExerciseReport:
    """Run `check` on a solution, and raise AssertionError with the report if anything differs."""
    report = check(function, cases, against, that=that)
    if not report.passed:
        raise AssertionError(f"the solution is wrong.\n{report}")
    return report


def _refuse_empty_exercise(cases, against, that) -> None:
    if not cases:
        raise ValueError("an exercise needs at least one case")
    for case in cases:
        if not (isinstance(case, tuple) or callable(case)):
            raise TypeError(
                f"a case must be a tuple of arguments, as in (x,), or a function that returns one, not {case!r}"
            )
    if against is None and not that:
        raise ValueError("an exercise needs something to compare with: against=, that=, or both")
    if against is not None and not callable(against) and len(against) != len(cases):
        raise ValueError(
            f"against must have one expected result for each of the {len(cases)} cases, but it has {len(against)}"
        )


def _first_difference(function, case, index, against, that) -> tuple[str, dict[str, str]]:
    """Run one case. Return its arguments as text, and a dict with the fields of a report on the first difference.

    The dict is empty if nothing differs.
    """
    with _arguments(case) as arguments:
        names = _parameter_names(function, len(arguments))
        given = "\n".join(f"{name} = {_show(value)}" for name, value in zip(names, arguments, strict=True))
        if not callable(function):
            return given, _reason(message("a function was expected, not {value}.", value=_show(function)))
        result, error = _call(function, arguments)
    difference = {}
    if callable(against):
        with _arguments(case) as expected_arguments:
            expected, expected_error = _call(against, expected_arguments)
        difference = (
            _result_difference(expected, expected_error, result, error)
            or _argument_difference(names, expected_arguments, arguments)
            or _identity_difference(names, expected_arguments, expected, arguments, result)
        )
    elif against is not None:
        difference = _result_difference(against[index], "", result, error)
    elif error:
        difference = _reason(message("it raised an error."), got=error)
    return given, difference or _broken_statement(that, result, arguments)


def _result_difference(expected: Any, expected_error: str, result: Any, error: str) -> dict[str, str]:
    if expected_error:
        same_type = error.split(":")[0] == expected_error.split(":")[0]
        if same_type:
            return {}
        return _reason(message("an error was expected."), expected=expected_error, got=error or _show(result))
    if error:
        return _reason(message("it raised an error."), got=error)
    if (result is None or result is ...) and expected is not None:
        return _reason(message("it returns nothing yet."), expected=_show(expected), got=_show(result))
    reason = _value_difference(expected, result)
    return _reason(reason, expected=_show(expected), got=_show(result)) if reason else {}


def _argument_difference(names: list[str], expected_arguments: tuple, arguments: tuple) -> dict[str, str]:
    for name, wanted, got in zip(names, expected_arguments, arguments, strict=True):
        if reason := _value_difference(wanted, got):
            reason = message("after the call, `{name}` is not as expected: {reason}", name=name, reason=reason)
            return _reason(reason, expected=f"{name} = {_show(wanted)}", got=f"{name} = {_show(got)}")
    return {}


def _identity_difference(
    names: list[str], expected_arguments: tuple, expected: Any, arguments: tuple, result: Any
) -> dict[str, str]:
    for name, wanted, got in zip(names, expected_arguments, arguments, strict=True):
        if _is_mutable(wanted) and (expected is wanted) != (result is got):
            if expected is wanted:
                reason = message(
                    "the values are right, but it returns another object. It should return `{name}` itself.", name=name
                )
            else:
                reason = message(
                    "the values are right, but it returns `{name}` itself. It should return another object.", name=name
                )
            return _reason(reason)
    return {}


def _broken_statement(that: Mapping[str, Callable], result: Any, arguments: tuple) -> dict[str, str]:
    for statement, holds in that.items():
        held, error = _call(holds, (result, *arguments))
        if error or not held:
            return _reason(message("this does not hold: {statement}.", statement=statement), got=error or _show(result))
    return {}


def _reason(reason: Text, **values: str) -> dict[str, str]:
    """Return the fields of a report: the reason, and `expected` and `got` if they are passed."""
    return {"reason": said(reason), **values}


@contextmanager
def _arguments(case: Case) -> Iterator[tuple]:
    made = case() if callable(case) else copy.deepcopy(case)
    if isinstance(made, AbstractContextManager):
        with made as arguments:
            yield arguments
    else:
        yield made


def _call(function: Callable, arguments: tuple) -> tuple[Any, str]:
    """Call a function. Return its result, and its error as text ("" if there is none).

    An error object would keep tensors alive.
    """
    try:
        return function(*arguments), ""
    except Exception as error:
        return None, f"{type(error).__name__}: {error}".removesuffix(": ")


def _parameter_names(function: Callable, count: int) -> list[str]:
    """Return a name for each of the function's first ``count`` arguments: "argument 2" for one without a name."""
    try:
        names = [name for name, p in inspect.signature(function).parameters.items() if p.kind in _POSITIONAL]
    except (TypeError, ValueError):  # the function is not callable, or it is built in and has no signature
        names = []
    return names[:count] + [said(message("argument {number}", number=at + 1)) for at in range(len(names), count)]


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


# ---------- comparing and showing values ----------


def _is_tensor(value: Any) -> bool:
    """True for a tensor or an array of any library, and for a NumPy scalar."""
    return all(hasattr(value, name) for name in ("shape", "dtype", "tolist"))


def _is_mutable(value: Any) -> bool:
    return (_is_tensor(value) and not isinstance(value, np.generic)) or isinstance(value, list | dict | set)


def _value_difference(expected: Any, got: Any) -> Text:
    """Return a sentence that says how `got` differs from `expected`, or "" if it does not differ."""
    if _is_tensor(expected):
        return _tensor_difference(expected, got)
    if isinstance(expected, float | complex) and isinstance(got, int | float | complex):
        return "" if _close(expected, got) else message("the values differ.")
    if type(expected) is not type(got):
        return _type_difference(expected, got)
    if isinstance(expected, list | tuple):
        if len(expected) != len(got):
            return message("{expected} items were expected, not {got}.", expected=len(expected), got=len(got))
        pairs = [
            (message("item {number}", number=number), *pair)
            for number, pair in enumerate(zip(expected, got, strict=True))
        ]
    elif isinstance(expected, dict):
        if expected.keys() != got.keys():
            return message("the keys differ.")
        pairs = [(message("entry {key}", key=repr(key)), value, got[key]) for key, value in expected.items()]
    else:
        return "" if expected == got else message("the values differ.")
    for place, *pair in pairs:
        if reason := _value_difference(*pair):
            return message("{place}: {reason}", place=place, reason=reason)
    return ""


def _tensor_difference(expected: Any, got: Any) -> Text:
    if type(expected) is not type(got):
        return _type_difference(expected, got)
    if list(expected.shape) != list(got.shape):
        shapes = {"got": str(list(got.shape)), "expected": str(list(expected.shape))}
        return message("the shape is {got}, and should be {expected}.", **shapes)
    if expected.dtype != got.dtype:
        dtypes = {"got": str(got.dtype), "expected": str(expected.dtype)}
        return message("the dtype is {got}, and should be {expected}.", **dtypes)
    wanted, found = (getattr(tensor, "stop_gradient", None) for tensor in (expected, got))
    if wanted != found:
        return message("stop_gradient is {got}, and should be {expected}.", got=str(found), expected=str(wanted))
    return "" if _close(expected.tolist(), got.tolist()) else message("the values differ.")


def _type_difference(expected: Any, got: Any) -> Text:
    return message("{expected} was expected, not {got}.", expected=_kind(expected), got=_kind(got))


def _close(expected: Any, got: Any) -> bool:
    expected, got = np.asarray(expected), np.asarray(got)
    if expected.dtype.kind in "fc":
        return bool(np.allclose(got, expected, rtol=1e-5, atol=1e-6, equal_nan=True))
    return bool(np.array_equal(expected, got))


def _kind(value: Any) -> Text:
    return "None" if value is None else message("a value of type {type}", type=type(value).__name__)


def _show(value: Any) -> str:
    """Return a value as text, cut if it is long. The text of a tensor has its elements, and a mark if it requires a
    gradient.
    """
    if not _is_tensor(value):
        text = repr(value)
    elif getattr(value, "stop_gradient", True):
        text = str(value.tolist())
    else:
        text = f"{value.tolist()} (stop_gradient=False)"
    return text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + " …"
