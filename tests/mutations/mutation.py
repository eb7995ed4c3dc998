"""Mutations: faults that can be planted in the package, registered by name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random

#: The folder with the package and its tests.
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Mutation:
    """A fault that can be planted in a file of the package.

    Attributes:
        name: a short and unique name.
        file: the changed file of the package.
        old: a text that the file contains once.
        new: its replacement.
        sentence: a description of the fault.
        tests: the tests that are expected to notice the fault. Each is a path, or the name of a file in
            tests/minitensor/engine without ``test_`` and ``.py``; ``::`` and a name select one test of the file.
    """

    name: str
    file: str
    old: str
    new: str
    sentence: str
    tests: tuple[str, ...]

    def planted(self, source: str) -> str:
        """Return ``source`` with the fault.

        Raises:
            ValueError: if the text to replace does not occur exactly once.
        """
        found = source.count(self.old)
        if found != 1:
            raise ValueError(f"{self.name}: its text occurs {found} times in {self.file}, not once:\n{self.old}")
        return source.replace(self.old, self.new)

    def source(self, root: Path = ROOT) -> str:
        """Return the text of the file without the fault."""
        return (root / self.file).read_text(encoding="utf-8")


MUTATIONS: dict[str, Mutation] = {}


def mutation(file: str, name: str, sentence: str, old: str, new: str, *tests: str) -> None:
    """Register a mutation."""
    if name in MUTATIONS:
        raise ValueError(f"two mutations are called {name}")
    MUTATIONS[name] = Mutation(name, file, old, new, sentence, tests)


def sample(count: int, seed: int) -> list[Mutation]:
    """Return random mutations, from as many different files as possible. The same seed gives the same mutations."""
    rest = Random(seed).sample(sorted(MUTATIONS.values(), key=lambda m: m.name), len(MUTATIONS))
    chosen: list[Mutation] = []
    while rest and len(chosen) < count:
        files = {m.file for m in chosen}
        turn = next((m for m in rest if m.file not in files), rest[0])
        rest.remove(turn)
        chosen.append(turn)
    return chosen
