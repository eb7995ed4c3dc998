"""Data sets with a length and a sample for each index."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from minitensor.engine import checks
from minitensor.engine.core.tensor import Tensor


class Dataset:
    """Samples by index. A subclass defines ``__getitem__`` and ``__len__``.

    Raises:
        NotImplementedError: if a sample is read and the subclass has no ``__getitem__``.
    """

    def __getitem__(self, index: Any) -> Any:
        """Return the sample at an index."""
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__; define `def __getitem__(self, index):`")

    def __add__(self, other: Any) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset:
    """Samples in sequence, without an index. A subclass defines ``__iter__``.

    Raises:
        NotImplementedError: if it is iterated and has no ``__iter__``.
    """

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} has no __iter__; define `def __iter__(self):`")


class Rows(Dataset):
    """A data set of tensors: sample i consists of row i of each tensor.

    Args:
        tensors: one or more, whose first dimensions have the same length.
        share: True if a sample is a view of the tensors, as in Paddle and PyTorch; False for copies, so that in-place
            writes into a sample do not change the data.

    Raises:
        TypeError: if an element is not a tensor.
        AssertionError: if the lengths differ, or if there is no tensor.
    """

    def __init__(self, tensors: Sequence[Any], share: bool) -> None:
        self.share = checks.flag("TensorDataset", "share", share)
        self.tensors = tuple(checks.elements("TensorDataset", "tensors", tensors, "tensors"))
        for position, each in enumerate(self.tensors):
            if not isinstance(each, Tensor):
                raise TypeError(f"TensorDataset: argument {position} must be a Tensor, not {type(each).__name__}")
        shapes = [tuple(each.shape) for each in self.tensors]
        if not shapes or () in shapes or len({shape[0] for shape in shapes}) > 1:
            raise AssertionError(
                f"Size mismatch between tensors: TensorDataset takes tensors whose first dimensions have the same "
                f"length, one row for each sample; their shapes are {shapes}"
            )

    def __getitem__(self, index: Any) -> Any:
        rows: list[Any] = [each[index] for each in self.tensors]
        return tuple(rows if self.share else (row.clone() for row in rows))

    def __len__(self) -> int:
        return self.tensors[0].shape[0]


class Subset(Dataset):
    """The samples of ``dataset`` at ``indices``, in that order. Samples are not copied.

    Raises:
        IndexError: if a sample is read that the data set does not have.
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        checks.instance("Subset", "indices", indices, Sequence, "a sequence of indices")
        self.dataset, self.indices = need_samples("Subset", dataset), indices

    def __getitem__(self, index: Any) -> Any:
        return self.dataset[self.indices[position("Subset", index, len(self))]]

    def __len__(self) -> int:
        return len(self.indices)


class ConcatDataset(Dataset):
    """Several data sets, one after the other.

    Raises:
        AssertionError: if the list is empty, or contains an :class:`IterableDataset`.
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = checks.elements("ConcatDataset", "datasets", datasets, "data sets")
        for each in self.datasets:
            if isinstance(each, IterableDataset):
                raise AssertionError("ConcatDataset does not support IterableDataset")
            need_samples("ConcatDataset", each)
            checks.sized("ConcatDataset", "datasets", each, "data sets with a length")
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        self.cumulative_sizes = list(itertools.accumulate(len(each) for each in self.datasets))

    def __getitem__(self, index: Any) -> Any:
        index = position("ConcatDataset", index, len(self))
        which = bisect.bisect_right(self.cumulative_sizes, index)
        return self.datasets[which][index - (self.cumulative_sizes[which - 1] if which else 0)]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]


def need_samples(op: str, dataset: Any) -> Any:
    """Return ``dataset``; raise TypeError unless it has samples by index and a length."""
    if (
        isinstance(dataset, (type, memoryview))
        or getattr(dataset, "ndim", 1) == 0
        or not checks.has_methods(dataset, "__getitem__", "__len__")
    ):
        raise checks.refused(op, "dataset", "a data set with __getitem__ and __len__", dataset)
    return checks.sized(op, "dataset", dataset, "a data set with a length")


def position(op: str, index: Any, length: int) -> int:
    """Return ``index`` counted from the front. A negative ``index`` counts from the end of ``length`` samples.

    Raises:
        TypeError: if it is not an integer.
        IndexError: if there is no such sample.
    """
    number = checks.integer(op, "index", index)
    if not -length <= number < length:
        raise IndexError(f"{op}: there is no sample {number}; there are {length}")
    return number % length


def lengths_of(total: int, lengths: Sequence[float]) -> list[int]:
    """Return the length of each part of a split of ``total`` samples.

    Args:
        lengths: the number of samples in each part, or the share of each part, where all shares sum to 1. The lengths
            that result from shares are rounded down, and the remaining samples are distributed among the first parts.

    Raises:
        ValueError: if the lengths sum neither to ``total`` nor to 1.
    """
    counts = checks.elements("random_split", "lengths", lengths, "numbers")
    counts = [checks.real("random_split", "lengths", each, least=0) for each in counts]
    if math.isclose(sum(counts), 1) and sum(counts) <= 1 and total != 1:
        if any(not 0 <= share <= 1 for share in counts):
            raise ValueError(f"random_split: a share must be from 0 to 1, but the shares are {counts}")
        shares, counts = counts, [math.floor(total * share) for share in counts]
        for i in range(total - int(sum(counts))):
            counts[i % len(shares)] += 1
    if any(math.isinf(count) or count != int(count) or count < 0 for count in counts) or sum(counts) != total:
        raise ValueError(
            f"Sum of input lengths does not equal the length of the input dataset! The parts {counts} are to "
            f"sum to {total}, or to 1 as shares."
        )
    return [int(count) for count in counts]


def split(dataset: Any, counts: Sequence[int], order: Sequence[int]) -> list[Subset]:
    """Return one part of ``dataset`` for each of ``counts``: for a count n, the next n indices in ``order``."""
    ends = list(itertools.accumulate(counts))
    return [Subset(dataset, list(order[end - count : end])) for end, count in zip(ends, counts, strict=True)]
