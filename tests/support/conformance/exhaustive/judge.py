"""Run a program on the engine and on the reference under a plan of policies, and return the verdict.

The engine and the reference must refuse the same statements and the same gradients, each time for a reason that the
reference found independently. Otherwise they must agree in the values and versions of all tensors, in the tensors that
need a gradient, and in every gradient. A write may keep only as many new bytes as the reference allows, and after the
last name is deleted no bytes may remain allocated. The verdict on a program is *right*, *wrong*, or *refused* (both
sides refused a write or a gradient because of a saved value). If both refuse the gradient of all results together, the
judge requests the gradient of each result alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import cycle

import numpy as np

from .alphabet import START, Program, nth
from .reference import World
from .saved import KINDS, LEAF, SHAPE, Refused

TOLERANCE = 1e-9
MOST_SHOWN = 5
FREE = (LEAF.kind, SHAPE.kind)  # the kinds of refusals that no saved value causes

#: Maps the name of a result to its initial gradient for backward. A result of shape [2] uses the first row.
WEIGHTS = {
    "x": [[1.13, -0.71], [0.47, 0.89]],
    "v": [[-0.53, 1.37], [0.97, -1.21]],
    "w": [[0.67, 0.43], [-1.49, 0.31]],
    "y": [[1.59, -0.37], [0.83, 1.07]],
    "z": [[-0.91, 0.59], [1.27, -0.61]],
    "d": [[0.79, 1.43], [-0.29, 1.61]],
}


@dataclass(frozen=True)
class Plan:
    """The policies of a program. Statements that only read use ``reads``; statements that write use the policies in
    ``writes`` in turn.

    ``of`` converts a text to a plan: ``2.6`` if there is only one policy, otherwise for example ``2.5:copy_on_write``
    or ``2.6:copy_on_write,2.6``.
    """

    reads: str
    writes: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Plan:
        reads, _, writes = text.partition(":")
        return cls(reads, tuple((writes or reads).split(",")))

    def policies(self, program: Program) -> list[str]:
        """Return the policy for each statement."""
        turns = cycle(self.writes)
        return [next(turns) if s.writes else self.reads for s in program]


class Wrong(Exception):
    """Raised if the engine is wrong. ``kind`` names the fault in one word; the message has the place and the expected
    value.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass
class Outcome:
    """The result of one program: its verdict, and the kind of every refusal (see ``saved.KINDS``)."""

    verdict: str = "right"
    kind: str = ""
    message: str = ""
    refusals: list[str] = field(default_factory=list)


class Judge:
    """Judge programs under one plan. ``engine()`` returns the module to which the programs' name ``mt`` is bound."""

    def __init__(self, engine: Callable, plan: Plan) -> None:
        self.engine, self.plan = engine, plan
        cpu = getattr(getattr(engine(), "device", None), "cpu", None)
        self.allocated = cpu.memory_allocated if cpu else lambda: 0  # engines with a planted fault do not count bytes
        self.weights = [self._weights(World()), self._weights(engine())]

    @staticmethod
    def _weights(mt) -> dict:
        """Map each pair of a name and a shape to its weights, as a tensor of the engine or of the reference."""
        made = {}
        for name, numbers in WEIGHTS.items():
            made[name, (2, 2)] = mt.to_tensor(numbers, dtype="float64")
            made[name, (2,)] = mt.to_tensor(numbers[0], dtype="float64")
        return made

    def run(self, program: Program) -> Outcome:
        outcome, before = Outcome(), self.allocated()
        sides = {"mt": World()}, {"mt": self.engine()}
        try:
            self._perform(program, sides, outcome.refusals)
        except Wrong as wrong:
            outcome.verdict, outcome.kind, outcome.message = "wrong", wrong.kind, str(wrong)
            return outcome
        if any(kind not in FREE for kind in outcome.refusals):
            outcome.verdict = "refused"
        sides[1].clear()
        if self.allocated() != before:
            outcome.verdict, outcome.kind = "wrong", "memory"
            outcome.message = f"{self.allocated() - before} bytes are still allocated after the last name is deleted"
        return outcome

    def _perform(self, program: Program, sides: tuple[dict, dict], refusals: list[str]) -> None:
        world, engine, in_force = sides[0]["mt"], sides[1]["mt"], None
        statements = (START, *program)
        for s, policy in zip(statements, self.plan.policies(statements), strict=True):
            if policy != in_force:
                world.set_inplace_policy(policy)
                engine.set_inplace_policy(policy)
                in_force = policy
            held = self.allocated()
            _both(lambda side, code=s.code: exec(code, side), sides, refusals)
            kept = self.allocated() - held
            if s.writes and kept > world.may_hold:
                raise Wrong("memory", f"`{s.text}` keeps {kept} bytes, and needs {world.may_hold}")
        names = _compared(*sides)
        leaves = [name for name in names if hasattr(sides[0][name], "directions")]
        results = [name for name in names if name not in leaves and not sides[0][name].stop_gradient]
        if not self._gradients(sides, results, leaves, refusals):
            for name in results:
                self._gradients(sides, [name], leaves, refusals)
        _same_numbers("gradient", leaves, *([side[name].grad for name in leaves] for side in sides))

    def _gradients(self, sides, results: list[str], leaves: list[str], refusals: list[str]) -> bool:
        """Compare the gradients of the weighted results with respect to the leaves. Return False if both sides refuse
        them.
        """

        def gradients(side: dict) -> list:
            tensors = [side[name] for name in results]
            shapes = [sides[0][name].values.shape for name in results]
            weights = [self.weights[side is sides[1]][key] for key in zip(results, shapes, strict=True)]
            inputs = [side[name] for name in leaves]
            return side["mt"].grad(tensors, inputs, weights, retain_graph=True, allow_unused=True)

        found = _both(gradients, sides, refusals)
        if found is None:
            return False
        _same_numbers("gradient", [f"the gradient of {', '.join(results)} for {name}" for name in leaves], *found)
        return True


def _both(act: Callable[[dict], object], sides: tuple[dict, dict], refusals: list[str]) -> tuple | None:
    """Return the results of ``act`` on the reference and on the engine, or None if both refuse for the same reason."""
    refused = error = None
    try:
        actual = act(sides[1])
    except Exception as raised:  # every error of an engine has to be judged
        error = raised.with_traceback(None)  # the frames of the traceback would keep tensors alive
        error.__context__ = None
    sides[0]["mt"].lenient = error is None
    try:
        expected = act(sides[0])
    except Refused as raised:
        refused = raised.with_traceback(None)
    if error is None and refused is None:
        return expected, actual
    if error is None:
        raise Wrong("accepted", f"continued where it must refuse: {refused}")
    if refused is None:
        raise Wrong("unjustified", f"refused without a reason: {type(error).__name__}: {error}")
    reason = next((reason for reason in refused.reasons if reason.explains(error)), None)
    if reason is None:
        expected = "\n  or: ".join(str(reason) for reason in refused.reasons)
        raise Wrong("error", f"expected: {expected}\nnot: {type(error).__name__}: {error}")
    refusals.append(reason.kind)
    return None


def _compared(ours: dict, theirs: dict) -> list[str]:
    """Compare the visible state of all tensors, and return their names."""
    names = [name for name in ours if name != "mt" and name[0] != "_"]
    for name in names:
        expected, actual = ours[name], theirs[name]
        for what in ("inplace_version", "stop_gradient"):
            if getattr(expected, what) != getattr(actual, what):
                raise Wrong(what, f"{name}.{what} is {getattr(actual, what)}, expected {getattr(expected, what)}")
    _same_numbers("value", names, [ours[name] for name in names], [theirs[name] for name in names])
    return names


def _same_numbers(kind: str, names: list[str], expected: list, actual: list) -> None:
    """Compare named tensors of both sides. None, which the engine returns for a missing gradient, counts as zeros."""
    for name, ours, theirs in zip(names, expected, actual, strict=True):
        wanted = ours.numpy()
        found = np.zeros_like(wanted) if theirs is None else theirs.numpy()
        if wanted.shape == found.shape and wanted.tobytes() == found.tobytes():
            continue
        allowed = TOLERANCE * (1 + np.abs(wanted).max())
        if wanted.shape != found.shape or not np.abs(wanted - found).max() <= allowed:  # also true for nan
            raise Wrong(kind, f"{name} is {found.tolist()}, expected {wanted.tolist()}")


# ---- many programs --------------------------------------------------------------------------------------------------


@dataclass
class Report:
    """Counts of verdicts and kinds of refusals, and the first wrong programs, as text."""

    verdicts: Counter = field(default_factory=Counter)
    refusals: Counter = field(default_factory=Counter)
    kinds: Counter = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    @property
    def programs(self) -> int:
        return self.verdicts.total()

    def merge(self, other: Report) -> None:
        for counted in ("verdicts", "refusals", "kinds"):
            getattr(self, counted).update(getattr(other, counted))
        self.wrong = (self.wrong + other.wrong)[:MOST_SHOWN]


def table(reports: dict[str, Report]) -> str:
    """Return a table with a column for each plan: the number of programs with each verdict, then the number of refusals
    of each kind (a program may have several).
    """
    plans = list(reports)
    rows = [("programs", [reports[plan].programs for plan in plans])]
    rows += [(f"  {v}", [reports[plan].verdicts[v] for plan in plans]) for v in ("right", "refused", "wrong")]
    rows += [("refusals", [reports[plan].refusals.total() for plan in plans])]
    rows += [(f"  {kind}", [reports[plan].refusals[kind] for plan in plans]) for kind in KINDS]
    heading, *lines = [("policy", plans), *((name, [f"{n:,}" for n in numbers]) for name, numbers in rows)]
    widths = [max(14, len(plan) + 2) for plan in plans]
    return "\n".join(
        f"{name:34}" + "".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
        for name, cells in (heading, *lines)
    )


def judge_all(engine: Callable, plan: Plan, numbers: Iterable[int], length: int) -> Report:
    """Judge the programs with these numbers among all programs of up to ``length`` statements."""
    report, judge, mt = Report(), Judge(engine, plan), engine()
    before = mt.get_inplace_policy() if hasattr(mt, "get_inplace_policy") else "2.6"
    try:
        for number in numbers:
            program = nth(number, length)
            outcome = judge.run(program)
            report.verdicts[outcome.verdict] += 1
            report.refusals.update(outcome.refusals)
            if outcome.verdict == "wrong":
                report.kinds[outcome.kind] += 1
                if len(report.wrong) < MOST_SHOWN:
                    report.wrong.append(f"# program {number}\n{runnable(program, plan)}\n# {outcome.message}")
    finally:
        mt.set_inplace_policy(before)
    return report


def runnable(program: Program, plan: Plan) -> str:
    """Return the program as a script that continues after a refused statement."""
    lines, before = ["import minitensor as mt"], None
    statements = (START, *program)
    for s, policy in zip(statements, plan.policies(statements), strict=True):
        if policy != before:
            lines.append(f'mt.set_inplace_policy("{policy}")')
        lines.append(s.text)
        before = policy
    return "\n".join(lines)
