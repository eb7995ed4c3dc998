"""The order in which samples of a data set are read. Each framework draws random orders with its own generator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from minitensor.engine import checks
from minitensor.engine.checks import shown
from minitensor.engine.data.datasets import position


class Sampler:
    """An order of the indices of a data set. A subclass defines ``__iter__``.

    Raises:
        NotImplementedError: if it is iterated and the subclass has no ``__iter__``.
    """

    def __init__(self, data_source: Any = None) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} has no __iter__; define `def __iter__(self):`")


class InOrder(Sampler):
    """The indices in order: 0, 1, 2, ..."""

    def __init__(self, data_source: Any) -> None:
        super().__init__(checks.sized(type(self).__name__, "data_source", data_source, "a data set with a length"))

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class Shuffled(Sampler):
    """Random indices of a data set. Each iteration draws a new random order, in which every index occurs once.

    If ``num_samples`` is larger than the data set, further orders follow the first one. The last order ends when
    ``num_samples`` indices are drawn. With ``replacement``, the indices are independent.

    Args:
        num_samples: the number of indices to draw; the length of the data set by default.
        generator: a random generator of the framework.

    Raises:
        ValueError: if ``num_samples`` is not a positive integer.
    """

    def __init__(
        self, data_source: Any, replacement: bool = False, num_samples: int | None = None, generator: Any = None
    ) -> None:
        op = type(self).__name__
        super().__init__(checks.sized(op, "data_source", data_source, "a data set with a length"))
        self.replacement = checks.flag(op, "replacement", replacement)
        self.generator, self._count = self._check_generator(generator), num_samples
        if not isinstance(self.num_samples, int) or self.num_samples < 1:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    @property
    def num_samples(self) -> int:
        """The number of indices to draw."""
        return len(self.data_source) if self._count is None else self._count

    def __len__(self) -> int:
        return self.num_samples

    def __iter__(self) -> Iterator[int]:
        length, count = len(self.data_source), self.num_samples
        if not length:
            raise ValueError(f"{type(self).__name__}: {count} indices cannot be drawn, because data_source is empty")
        draw = self._draw_function()
        if self.replacement:
            for begin in range(0, count + 1, 32):  # PyTorch draws in blocks of 32, of which the last may be empty
                yield from draw("integers", length, min(32, count - begin))
            return
        for _ in range(count // length):
            yield from draw("order", length, length)
        yield from draw("order", length, length)[: count % length]  # PyTorch draws an order even if none of it is used

    def _check_generator(self, generator: Any) -> Any:
        """Return ``generator``, which may be None. Subclasses raise TypeError for a generator of another framework."""
        return generator

    def _draw_function(self) -> Callable[[str, int, int], list[int]]:
        """Return a function ``draw(kind, length, count)``, which returns a list of random indices below ``length``.

        If ``kind`` is "integers", it draws ``count`` independent indices. If ``kind`` is "order", it returns all
        ``length`` indices in a random order; ``count`` is equal to ``length`` then.
        """
        raise NotImplementedError


class Batches(Sampler):
    """Lists of ``batch_size`` indices; the last may be shorter, unless ``drop_last`` removes it.

    Raises:
        ValueError: if ``batch_size`` is not a positive integer, or ``drop_last`` is not a bool.
        TypeError: if ``sampler`` is not iterable.
    """

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool) -> None:
        super().__init__()
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={shown(batch_size)}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={shown(drop_last)}")
        if not checks.is_iterable(sampler):
            raise checks.refused(type(self).__name__, "sampler", "an iterable of indices", sampler)
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[Any]]:
        batch = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]  # a sampler without a length raises Python's own error
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


def consecutive_slice(op: str, indices: Sequence[Any], length: int) -> slice | None:
    """Return the slice that selects these indices of ``length`` samples, or None if they are not consecutive.

    Raises:
        IndexError: if there is no such sample.
    """
    if not indices:
        return slice(0, 0)
    first = indices[0]
    if any(index != first + step for step, index in enumerate(indices)):
        return None
    begin, last = position(op, first, length), position(op, indices[-1], length)
    return slice(begin, last + 1) if begin <= last else None
