"""The random generator of the program. It draws all random numbers, for every device, in one sequence."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitensor.engine.checks import NUMPY_INTEGERS, shown


class Source:
    """Holds the generator. It is created on first use, because that loads 6 MiB of code; :func:`seed` replaces it."""

    __slots__ = ("_generator",)

    def __init__(self) -> None:
        self._generator: np.random.Generator | None = None

    @property
    def generator(self) -> np.random.Generator:
        """The generator."""
        if self._generator is None:
            self._generator = np.random.Generator(np.random.PCG64())
        return self._generator

    @generator.setter
    def generator(self, generator: np.random.Generator) -> None:
        self._generator = generator


source = Source()


def seed(number: Any) -> None:
    """Restart the sequence of random numbers from the seed ``number``.

    Raises:
        ValueError: if ``number`` is not a non-negative integer.
    """
    if not isinstance(number, (int, NUMPY_INTEGERS)) or number < 0:
        raise ValueError(f"seed: a seed is an integer, 0 or above, not {shown(number)}")
    source.generator = np.random.Generator(np.random.PCG64(number))
