"""In which order the samples of a data set come. A vocabulary says what draws the random ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any


class Sampler:
    """Indices of a data set, one after another. A subclass defines ``__iter__``.

    Raises:
        NotImplementedError: if it is gone through and has no ``__iter__``.
    """

    def __init__(self, data_source: Any = None) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} has no __iter__; define `def __iter__(self):`")


class InOrder(Sampler):
    """0, 1, 2, ..."""

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class Shuffled(Sampler):
    """Every index once, in an order drawn anew each time; with ``replacement`` any index at any time.

    Args:
        num_samples: how many are drawn; as many as there are, unless told.

    Raises:
        ValueError: if that is no number above 0.
    """

    def __init__(
        self, data_source: Any, replacement: bool = False, num_samples: int | None = None, generator: Any = None
    ) -> None:
        super().__init__(data_source)
        self.replacement, self.generator, self._count = bool(replacement), generator, num_samples
        if not isinstance(self.num_samples, int) or self.num_samples < 1:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    @property
    def num_samples(self) -> int:
        """How many indices are drawn."""
        return len(self.data_source) if self._count is None else self._count

    def __len__(self) -> int:
        return self.num_samples

    def __iter__(self) -> Iterator[int]:
        length, count = len(self.data_source), self.num_samples
        drawn = self._drawing()
        if self.replacement:
            some = [32] * (count // 32) + [count % 32]  # as many at a time as PyTorch draws
            for each in some:
                yield from drawn("integers", length, each)
            return
        for _ in range(count // length):
            yield from drawn("order", length, length)
        yield from drawn("order", length, length)[: count % length]  # drawn also where nothing is left: so is PyTorch's

    def _drawing(self) -> Callable[[str, int, int], list[int]]:
        """``drawn(what, length, count)``: "integers" below ``length``, or an "order" of all of them."""
        raise NotImplementedError


class Batches(Sampler):
    """Lists of ``batch_size`` indices; the last may be shorter, unless ``drop_last`` leaves it out.

    Raises:
        ValueError: if the size is no whole number above 0.
    """

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool) -> None:
        super().__init__()
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
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
        count = len(self.sampler)  # type: ignore[arg-type]  # where it has no length, Python's own error says so
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


def run_of(indices: Sequence[Any]) -> slice | None:
    """The slice that picks these indices, if they follow each other."""
    first = indices[0]
    if any(index != first + step for step, index in enumerate(indices)):
        return None
    return slice(first, first + len(indices))
