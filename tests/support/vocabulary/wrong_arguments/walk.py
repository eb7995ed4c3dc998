"""A walk: random calls with wrong arguments, determined by a seed, and the faults of their errors."""

from __future__ import annotations

import contextlib
import importlib
import signal
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from minitensor.engine.core.tensor import Tensor
from tests.support.vocabulary.wrong_arguments.callables import Entry, entries
from tests.support.vocabulary.wrong_arguments.judge import fault_of
from tests.support.vocabulary.wrong_arguments.state import State
from tests.support.vocabulary.wrong_arguments.values import Values

LIMIT_S = 5  # seconds of processor time for one call; other processes do not add to it
WAITING_S = 120  # seconds for one call that sleeps or waits


class TooSlow(BaseException):
    """Raised if a call does not end within its limits. It is a BaseException, so that ``except Exception`` does not
    catch it.
    """


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """Raise TooSlow if the body computes for :data:`LIMIT_S`, or waits for :data:`WAITING_S`."""

    def late(number: int, _: object) -> None:
        raise TooSlow(f"no answer within {WAITING_S if number == signal.SIGALRM else LIMIT_S} s")

    timers = {signal.SIGPROF: (signal.ITIMER_PROF, LIMIT_S), signal.SIGALRM: (signal.ITIMER_REAL, WAITING_S)}
    before = {number: signal.signal(number, late) for number in timers}
    for timer, seconds in timers.values():
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for number, (timer, _) in timers.items():
            signal.setitimer(timer, 0)
            signal.signal(number, before[number])


@dataclass
class Report:
    """The result of a walk.

    Attributes:
        calls: the number of calls.
        refused: the number of calls that raised an error.
        faults: descriptions of faults, each with the number and the text of the call.
        kinds: the number of faults at each place.
        examples: the first fault of each kind.
    """

    calls: int = 0
    refused: int = 0
    faults: list[str] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)


class Walk:
    """Call the public names of one vocabulary.

    Every call has a separate seed, so that ``Walk(package, seed).call(number)`` repeats a single call.
    """

    def __init__(self, package: str, seed: int) -> None:
        self.package, self.seed, self.rng = package, seed, Random(seed)
        self.values = Values(importlib.import_module(package), self.rng)
        self.entries = entries(package, self.values)
        groups: dict[str, list[Entry]] = {}
        for entry in self.entries:
            groups.setdefault(entry.group, []).append(entry)
        self.groups = list(groups.values())
        self.state = State(self.values)

    def chosen(self, number: int) -> Entry:
        """Return the callable for the call of this number."""
        return self.rng.choice(self.rng.choice(self.groups))

    def arguments(self, entry: Entry) -> tuple[list[Any], dict[str, Any], list[str]]:
        """Return positional arguments, keywords and their labels for one call."""
        rng, names = self.rng, list(entry.parameters)
        count = rng.randint(entry.required, len(names)) if rng.random() < 0.7 else entry.required
        if not entry.is_setter and rng.random() < 0.08:
            count = rng.choice([0, max(0, entry.required - 1), len(names) + 1, len(names) + 2])
        wrong_at = {rng.randrange(count) for _ in range(rng.choice([0, 1, 1, 1, 2, 3]))} if count else set()
        given: list[Any] = []
        labels: list[str] = []
        for i in range(count):
            name = names[i] if i < len(names) else "extra"
            label, value = self.values.any_wrong() if i in wrong_at else self.values.fitting(name, entry.last)
            given.append(value)
            labels.append(label)
        named: dict[str, Any] = {}
        if not entry.is_setter and rng.random() < 0.15:
            name = rng.choice([*names[count:], *KEYWORDS])
            label, named[name] = self.values.any_wrong()
            labels.append(f"{name}={label}")
        return given, named, labels

    def call(self, number: int, report: Report) -> None:
        """Make one call and record its faults in ``report``."""
        self.rng.seed(f"{self.seed}/{number}")
        self.values.vocabulary.seed(0) if not self.values.is_torch else self.values.vocabulary.manual_seed(0)
        entry = self.chosen(number)
        receiver = entry.receiver() if entry.receiver else None
        given, named, labels = self.arguments(entry)
        owners = [] if receiver is None else [receiver]
        before = self.state.seen([*owners, *given, *named.values()])
        what = f"{number}: {entry.name}({', '.join(labels)})"
        report.calls += 1
        try:
            with limited():
                result = entry.call(*owners, *given, **named)
                is_error = False
                self.follow(result)
                if entry.last in UNDONE:
                    UNDONE[entry.last](receiver)
        except TooSlow as error:
            self.add(report, what, f"{entry.name}: {error}")
        except BaseException as error:
            report.refused += 1
            fault = fault_of(error, set(entry.names))
            if fault:
                self.add(report, what, fault, error)
            is_error = "result" not in locals()
        else:
            is_error = False
        if locals().get("is_error"):
            changed = self.state.changed(before)
            if changed:
                self.add(report, what, f"{entry.name} raised and changed {changed}")
        self.state.restore()

    @staticmethod
    def add(report: Report, what: str, fault: str, error: BaseException | None = None) -> None:
        """Record a fault."""
        shown = "".join(traceback.format_exception_only(error)).strip()[:300] if error else ""
        report.faults.append(f"{what}\n    {fault[:400]}" + (f"\n    {shown}" if shown and shown not in fault else ""))
        kind = fault.partition(": ")[0]
        report.kinds[kind] += 1
        report.examples.setdefault(kind, report.faults[-1])

    def follow(self, result: Any) -> None:
        """Use the result as a program does: call a layer, enter a context, iterate a loader, call ``step``."""
        if isinstance(result, (Tensor, np.ndarray, str, bytes, int, float, type(None), tuple, list, dict)):
            return
        if hasattr(result, "__enter__") and hasattr(result, "__exit__"):
            with result:
                pass
        elif hasattr(result, "forward") and not isinstance(result, type):
            result(self.values.some_tensor())
        elif hasattr(result, "step") and hasattr(result, "state_dict"):
            result.step()
        elif hasattr(result, "__iter__"):
            for _, _ in zip(range(3), result, strict=False):
                pass

    def run(self, calls: int, first: int = 0) -> Report:
        """Make ``calls`` calls, the first of which has the number ``first``, and return the report."""
        report = Report()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for number in range(first, first + calls):
                self.call(number, report)
        return report


#: Maps a method that changes the state of the process to a function that undoes the change.
UNDONE: dict[str, Callable[[Any], Any]] = {
    "__enter__": lambda context: context.__exit__(None, None, None),
    "open": lambda subscription: subscription.close(),
}
KEYWORDS = ("name", "no_such_keyword", "out", "dtype", "dim", "axis", "generator", "inplace", "device", "keepdim")
