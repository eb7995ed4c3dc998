"""The random generator of the program. It draws all random numbers, for every device, in one sequence."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from minitensor.engine.checks import NUMPY_INTEGERS, shown


class Source:
    """Holder of the current generator. :func:`seed` replaces the generator."""

    @functools.cached_property
    def generator(self) -> np.random.Generator:
        """The generator. It is created on first use, because numpy then loads 6 MiB of code."""
        return np.random.Generator(np.random.PCG64())


source = Source()


def seed(number: Any) -> None:
    """Restart the sequence of random numbers from the seed ``number``.

    Raises:
        ValueError: if ``number`` is not a non-negative integer.
    """
    if not isinstance(number, (int, NUMPY_INTEGERS)) or number < 0:
        raise ValueError(f"seed: a seed must be an integer, 0 or above, not {shown(number)}")
    source.generator = np.random.Generator(np.random.PCG64(number))
