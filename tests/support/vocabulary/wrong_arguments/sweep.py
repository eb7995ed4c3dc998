"""A sweep: every wrong value for every parameter, while all other arguments fit.

A random walk rarely passes a certain value to a certain parameter, because there are 400,000 and more such pairs in a
vocabulary, and because a check of another wrong argument often refuses the call first. A sweep makes a call for each
pair, in an order that the seed determines.
"""

from __future__ import annotations

from random import Random
from typing import Any

from tests.support.vocabulary.wrong_arguments.callables import Entry
from tests.support.vocabulary.wrong_arguments.walk import Walk


class Sweep(Walk):
    """Call the public names of one vocabulary, each with one wrong argument.

    Args:
        labels: the labels of the wrong values; by default all of them.

    Attributes:
        jobs: for each call a list of callables, of which one is called; the position of the wrong argument; its label.
    """

    def __init__(self, package: str, seed: int, labels: list[str] | None = None) -> None:
        super().__init__(package, seed)
        values = list(self.values.wrong) if labels is None else labels
        self.jobs: list[tuple[list[Entry], int, str]] = [
            ([entry for entry in group if len(entry.parameters) > at], at, label)
            for group in self.groups
            for at in range(max(len(entry.parameters) for entry in group))
            for label in values
        ]
        Random(seed).shuffle(self.jobs)

    def chosen(self, number: int) -> Entry:
        """Return the callable for the call of this number."""
        group, self.at, self.label = self.jobs[number % len(self.jobs)]
        return self.rng.choice(group)

    def arguments(self, entry: Entry) -> tuple[list[Any], dict[str, Any], list[str]]:
        """Return positional arguments, of which all but one fit; no keywords; and the labels of the arguments."""
        most = len(entry.parameters)
        count = max(entry.required, self.at + 1)
        if not entry.is_setter and self.rng.random() < 0.5:
            count = self.rng.randint(count, max(count, most))
        given: list[Any] = []
        labels: list[str] = []
        for i in range(count):
            if i == self.at:
                label, value = self.label, self.values.wrong[self.label]()
            else:
                label, value = self.values.fitting(entry.parameters[i] if i < most else "extra", entry.last)
            given.append(value)
            labels.append(label)
        return given, {}, labels
