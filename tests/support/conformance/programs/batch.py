"""Run many programs and count the verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random

from .compare import Outcome, run_program
from .shrink import runnable, shrink

MOST_SHOWN = 5


@dataclass
class Report:
    """Counts of verdicts, of reasons for refusals and of tags, and the texts of the first wrong or invalid programs.

    A tag names a kind of statement. ``tags`` counts the executed statements of each kind, and ``attempted`` counts the
    refused ones as well.
    """

    verdicts: Counter = field(default_factory=Counter)
    reasons: Counter = field(default_factory=Counter)
    tags: Counter = field(default_factory=Counter)
    attempted: Counter = field(default_factory=Counter)
    kinds: Counter = field(default_factory=Counter)
    statements: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        self.verdicts[outcome.verdict] += 1
        self.reasons.update(outcome.refusals)
        self.tags.update(outcome.tags)
        self.attempted.update(outcome.attempted)
        self.statements += outcome.statements_run

    def merge(self, other: Report) -> None:
        for counted in ("verdicts", "reasons", "tags", "attempted", "kinds"):
            getattr(self, counted).update(getattr(other, counted))
        self.statements += other.statements
        self.wrong += other.wrong

    @property
    def programs(self) -> int:
        return self.verdicts.total()

    def __str__(self) -> str:
        lines = [f"{self.programs} programs, {self.statements} statements"]
        lines += [f"{count:9}  {verdict}" for verdict, count in self.verdicts.most_common()]
        lines += ["refused statements, by reason:"] * bool(self.reasons)
        lines += [f"{count:9}  {reason}" for reason, count in self.reasons.most_common()]
        return "\n".join(lines)


def run_one(
    engine, seed: str, number: int, policy: str, lengths: tuple[int, int], dtypes: tuple[str, ...] = ()
) -> Outcome:
    """Run program ``number`` of a seed. The same seed and number always give the same program."""
    rng = Random(f"{seed}/{policy}/{lengths[0]}-{lengths[1]}/{number}")
    return run_program(engine, rng, policy, rng.randint(*lengths), dtypes)


def run_batch(
    engine, seed: str, numbers: Iterable[int], policy: str, lengths: tuple[int, int], dtypes: tuple[str, ...] = ()
) -> Report:
    report = Report()
    for number in numbers:
        outcome = run_one(engine, seed, number, policy, lengths, dtypes)
        report.add(outcome)
        if outcome.verdict not in ("wrong", "invalid"):
            continue
        report.kinds[outcome.kind] += 1
        if len(report.wrong) < MOST_SHOWN:
            report.wrong.append(described(engine, outcome, seed, number, policy, lengths, dtypes))
    return report


def described(
    engine, outcome: Outcome, seed: str, number: int, policy: str, lengths: tuple[int, int], dtypes: tuple[str, ...]
) -> str:
    """Return a text with the command that runs the program again, and the shortest program that fails in the same way.
    An invalid program is not shortened.
    """
    if outcome.verdict == "invalid":
        short = outcome
    else:
        short = shrink(engine, outcome, policy)
    again = f"--seed {seed} --only {number} --policy {policy} --length {lengths[0]}-{lengths[1]}"
    again += f" --dtypes {','.join(dtypes)}" if dtypes else ""
    return f"# python -m tests.support.conformance.programs {again}\n{runnable(short, policy)}"
