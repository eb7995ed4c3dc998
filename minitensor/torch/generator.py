"""Draw the same random numbers as PyTorch's CPU generator.

PyTorch's generator is the Mersenne Twister MT19937. ``manual_seed`` seeds it with Matsumoto and Nishimura's
``init_genrand``. Random numbers are computed from the generator's 32-bit draws as in
``ATen/core/DistributionsHelper.h`` and ``ATen/native/cpu/DistributionTemplates.h``:

* A uniform float32 number has the low 24 bits of one draw. A uniform float64 number has the low 53 bits of two draws,
  of which the first one is the high word.
* Normal numbers for fewer than 16 elements, or for a tensor that is not contiguous: Box and Muller's method computes
  two numbers from two uniform float64 numbers. The second result is cached for the next call.
* Normal numbers for 16 or more elements: uniform numbers are transformed in place, in pairs of numbers 8 elements
  apart. If the count is not a multiple of 16, the last 16 elements are then drawn again. PyTorch computes the
  logarithms and cosines of this method with its own vector code, so a result may differ in the last bit.
"""

from __future__ import annotations

import math
import operator
import secrets
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.checks import shown
from minitensor.engine.creation.making import MOST_ELEMENTS, as_shape, float_dtype
from minitensor.engine.dtypes import HALVES
from minitensor.engine.kernels.sixteen_bits import narrow

_TWO_PI = 2.0 * math.pi
_SINGLE = 2.0**-24
_DOUBLE = 2.0**-53
#: The largest number of elements that are drawn at a time. A big tensor then needs only a few MiB of temporary memory.
_AT_ONCE = 1 << 18


class Generator:
    """A sequence of random numbers. ``device`` has no effect, because all numbers are drawn on the CPU."""

    __slots__ = ("_bits", "_seed", "_cached")

    def __init__(self, device: Any = "cpu") -> None:
        self._bits = np.random.MT19937()
        self._cached: float | None = None
        self.manual_seed(67280421310721)

    # ---------- the state ----------

    def manual_seed(self, seed: Any) -> Generator:
        """Restart the sequence with ``seed``, and return this generator.

        As in PyTorch, only the low 32 of the seed's 64 bits matter.

        Raises:
            TypeError, RuntimeError: if ``seed`` is not an integer, or needs more than 64 bits.
        """
        try:
            number = int(seed) if isinstance(seed, float) and seed.is_integer() else operator.index(seed)
        except (AttributeError, TypeError):
            raise TypeError(f"manual_seed(): a seed must be an integer, not {shown(seed)}") from None
        if not -(2**63) <= number < 2**64:
            raise RuntimeError(f"Overflow when unpacking long: a seed has 64 bits, and {shown(number)} takes more")
        self._seed = number % 2**64
        self._bits._legacy_seeding(self._seed & 0xFFFFFFFF)
        self._cached = None
        return self

    def seed(self) -> int:
        """Restart the sequence with an unpredictable seed, and return the seed."""
        number = secrets.randbits(63)
        self.manual_seed(number)
        return number

    def initial_seed(self) -> int:
        """Return the seed with which the sequence started."""
        return self._seed

    def get_state(self) -> tuple[Any, ...]:
        """Return the state from which the next numbers are computed."""
        inner = self._bits.state["state"]
        return inner["key"].copy(), int(inner["pos"]), self._seed, self._cached

    def set_state(self, state: tuple[Any, ...]) -> None:
        """Continue from a state that :meth:`get_state` returned.

        Raises:
            TypeError: if ``state`` is not such a state.
        """
        if not _is_state(state):
            raise TypeError(
                f"set_rng_state(): new_state must be the result of get_rng_state(), not {checks.shown(state)}"
            )
        key, pos, self._seed, self._cached = state
        self._bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": pos}}

    # ---------- draws ----------

    def words(self, count: int) -> np.ndarray:
        """Return ``count`` draws of 32 bits as uint64."""
        count = checks.integer("Generator.words()", "count", count, least=0)
        if count > MOST_ELEMENTS:
            raise ValueError(f"Generator.words(): {count} draws are more than memory holds")
        return self._bits.random_raw(count)

    def long_words(self, count: int) -> np.ndarray:
        """Return ``count`` draws of 64 bits: two of 32 bits each, the high one first."""
        count = checks.integer("Generator.long_words()", "count", count, least=0)
        pairs = self.words(2 * count).reshape(-1, 2)
        return (pairs[:, 0] << np.uint64(32)) | pairs[:, 1]

    def _doubles(self, count: int) -> np.ndarray:
        return (self.long_words(count) & np.uint64(2**53 - 1)).astype(np.float64) * _DOUBLE

    def uniform(self, shape: tuple[int, ...], dtype: np.dtype, low: float = 0.0, high: float = 1.0) -> np.ndarray:
        """Return numbers drawn uniformly from ``low`` (included) to ``high`` (excluded).

        For a 16-bit dtype, float32 numbers are drawn and rounded, as in PyTorch. Rounding may produce ``high`` itself.
        """
        shape, dtype = _drawable("Generator.uniform()", shape, dtype)
        if dtype in HALVES:
            return narrow(self.uniform(shape, np.dtype(np.float32), low, high), dtype)
        out = np.empty(math.prod(shape), dtype)
        low, high = checks.real("Generator.uniform()", "low", low), checks.real("Generator.uniform()", "high", high)
        low, high = dtype.type(low), dtype.type(high)
        for begin in range(0, out.size, _AT_ONCE):
            part = out[begin : begin + _AT_ONCE]
            if dtype == np.float32:
                drawn = (self.words(part.size) & np.uint64(2**24 - 1)).astype(np.float64)
                drawn *= _SINGLE
            else:
                drawn = self._doubles(part.size)
            with np.errstate(all="ignore"):
                # PyTorch computes the width of the interval in the tensor's dtype, and the rest in double precision.
                drawn *= np.float64(high - low)
                drawn += np.float64(low)
                part[...] = drawn
        return out.reshape(shape)

    def one_normal(self) -> float:
        """Return one number from the normal distribution with mean 0 and standard deviation 1."""
        if self._cached is not None:
            drawn, self._cached = self._cached, None
            return drawn
        first, second = self._doubles(2).tolist()
        radius = math.sqrt(-2.0 * math.log1p(-second))
        angle = _TWO_PI * first
        self._cached = radius * math.sin(angle)
        return radius * math.cos(angle)

    def normal(
        self, shape: tuple[int, ...], dtype: np.dtype, mean: float = 0.0, std: float = 1.0, dense: bool = True
    ) -> np.ndarray:
        """Return numbers from the normal distribution. Pass ``dense=False`` if they will fill a tensor that is not
        contiguous, because PyTorch draws these in another way.
        """
        shape, dtype = _drawable("Generator.normal()", shape, dtype)
        mean, std = checks.real("Generator.normal()", "mean", mean), checks.real("Generator.normal()", "std", std)
        if dtype in HALVES:
            return narrow(self.normal(shape, np.dtype(np.float32), mean, std, dense), dtype)
        count = math.prod(shape)
        if count < 16 or not dense:
            return np.array([self.one_normal() * std + mean for _ in range(count)], dtype).reshape(shape)
        drawn = self.uniform((count,), dtype)
        whole = count // 16 * 16
        for begin in range(0, whole, _AT_ONCE):
            self._pairs(drawn[begin : min(begin + _AT_ONCE, whole)].reshape(-1, 16), mean, std)
        if whole < count:
            rest = drawn[count - 16 :]
            rest[:] = self.uniform((16,), dtype)
            self._pairs(rest.reshape(1, 16), mean, std)
        return drawn.reshape(shape)

    @staticmethod
    def _pairs(rows: np.ndarray, mean: float, std: float) -> None:
        """Turn rows of 16 uniform numbers into normally distributed numbers, in place."""
        kind = rows.dtype.type
        radius = np.sqrt(kind(-2) * np.log(kind(1) - rows[:, :8]))
        angle = kind(_TWO_PI) * rows[:, 8:]
        rows[:, :8] = radius * np.cos(angle) * kind(std) + kind(mean)
        rows[:, 8:] = radius * np.sin(angle) * kind(std) + kind(mean)

    def integers(self, shape: tuple[int, ...], low: int, high: int) -> np.ndarray:
        """Return integers from ``low`` (included) to ``high`` (excluded)."""
        shape = as_shape("Generator.integers()", shape)
        low = checks.integer("Generator.integers()", "low", low)
        span = checks.integer("Generator.integers()", "high", high, least=low + 1) - low
        drawn = self.long_words(math.prod(shape)) if span >= 2**32 else self.words(math.prod(shape))
        return ((drawn % np.uint64(span)).astype(np.int64) + np.int64(low)).reshape(shape)

    def permutation(self, count: int) -> np.ndarray:
        """Return the numbers from 0 to ``count`` - 1 in random order."""
        count = checks.integer("Generator.permutation()", "count", count, least=0)
        if count > MOST_ELEMENTS:
            raise ValueError(f"Generator.permutation(): {count} numbers are more than memory holds")
        order = np.arange(count, dtype=np.int64)
        for i, word in enumerate(self.words(max(count - 1, 0)).tolist()):
            j = i + word % (count - i)
            order[i], order[j] = order[j], order[i]
        return order


def _drawable(op: str, shape: Any, dtype: Any) -> tuple[tuple[int, ...], np.dtype]:
    """Return ``shape`` as a tuple of lengths, and ``dtype`` as a floating-point dtype of numpy.

    Raises:
        TypeError, ValueError: if ``shape`` is not a shape, or ``dtype`` is not a floating-point one.
    """
    return as_shape(op, shape), float_dtype(op, dtype)


def _is_state(given: Any) -> bool:
    """True if :meth:`Generator.get_state` can have returned ``given``."""
    if not isinstance(given, tuple) or len(given) != 4:
        return False
    key, pos, seed, kept = given
    is_key = isinstance(key, np.ndarray) and key.shape == (624,) and key.dtype == np.uint32
    return is_key and type(pos) is type(seed) is int and 0 <= pos <= 624 and (kept is None or type(kept) is float)


#: The generator that functions use if a program passes none. ``torch.manual_seed`` seeds it.
default_generator = Generator()
default_generator.seed()


def generator_of(given: Any) -> Generator:
    """Return the generator that was passed to a function, or the default one for None.

    Raises:
        TypeError: if ``given`` is anything else.
    """
    if given is None:
        return default_generator
    if not isinstance(given, Generator):
        raise TypeError(f"generator must be a torch.Generator or None, not {type(given).__name__}")
    return given
