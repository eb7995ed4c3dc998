"""Data sets of tensors, samplers and loaders under Paddle's names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.checks import shown
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.creation.making import to_tensor
from minitensor.engine.data import datasets, samplers
from minitensor.engine.data.loading import Loader, collated
from minitensor.engine.random import source
from minitensor.engine.views.joining import stack


class TensorDataset(datasets.Rows):
    """A data set whose sample i consists of row i of each tensor.

    The rows are views of the tensors; with ``share=False``, which only minitensor has, they are copies.

    Raises:
        TypeError, AssertionError: if an element is not a tensor, or if the first dimensions differ in length.
    """

    def __init__(self, tensors: Sequence[Tensor], share: bool = True) -> None:
        if isinstance(tensors, Tensor):
            raise TypeError("TensorDataset takes a list of tensors: TensorDataset([x, y])")
        super().__init__(tensors, share)


@checks.with_own_methods
class SequenceSampler(samplers.InOrder):
    """The indices of a data set in order: 0, 1, 2, ...

    Raises:
        TypeError: if the data set has no length.
    """


@checks.with_own_methods
class RandomSampler(samplers.Shuffled):
    """The indices of a data set in random order, each once; with ``replacement``, independent random indices instead.

    Raises:
        ValueError: if ``num_samples`` is below 1.
    """

    def _check_generator(self, generator: Any) -> Any:
        if generator is not None:
            checks.instance("RandomSampler", "generator", generator, np.random.Generator, "a numpy.random.Generator")
        return generator

    def _draw_function(self) -> Callable[[str, int, int], list[int]]:
        generator = source.generator if self.generator is None else self.generator

        def draw(kind: str, length: int, count: int) -> list[int]:
            if kind == "order":
                return generator.permutation(length).tolist()
            return generator.integers(0, length, count).tolist()

        return draw


class BatchSampler(samplers.Batches):
    """Lists of ``batch_size`` indices: those of a data set, or those that a sampler yields.

    Raises:
        ValueError: if ``batch_size`` is not a positive integer; or if both a data set and a sampler are given, or
            neither, or a sampler and ``shuffle=True``.
    """

    def __init__(
        self,
        dataset: Any = None,
        sampler: Iterable[Any] | None = None,
        shuffle: bool = False,
        batch_size: int = 1,
        drop_last: bool = False,
    ) -> None:
        shuffle = checks.flag("BatchSampler", "shuffle", shuffle)
        if (dataset is None) == (sampler is None) or (sampler is not None and shuffle):
            raise ValueError(
                "BatchSampler: give either dataset, which may be shuffled, or sampler, which has its own order"
            )
        if sampler is None:
            sampler = RandomSampler(dataset) if shuffle else SequenceSampler(dataset)
        super().__init__(sampler, batch_size, drop_last)


def random_split(dataset: Any, lengths: Sequence[float], generator: Any = None) -> list[datasets.Subset]:
    """Split ``dataset`` at random into parts.

    Args:
        lengths: the lengths of the parts, or the share of the data set that each part gets; shares sum to 1.

    Raises:
        ValueError: if ``lengths`` sum neither to the length of the data set nor to 1.
    """
    datasets.need_samples("random_split", dataset)
    if generator is not None:
        checks.instance("random_split", "generator", generator, np.random.Generator, "a numpy.random.Generator or None")
    counts = datasets.lengths_of(len(dataset), lengths)
    order = (source.generator if generator is None else generator).permutation(len(dataset))
    return datasets.split(dataset, counts, order.tolist())


def _join(samples: list[Any]) -> Any:
    first = samples[0]
    if isinstance(first, Tensor):
        return stack(samples)
    if isinstance(first, np.ndarray):
        return to_tensor(np.stack(samples))
    if isinstance(first, (bool, int, float, np.number, np.bool_)):
        return to_tensor(np.array(samples))
    return NotImplemented


class DataLoader(Loader):
    """An iterable of the batches of ``dataset``.

    Args:
        dataset: a Dataset, an IterableDataset, or anything with ``__getitem__`` and ``__len__``.
        batch_sampler: yields lists of indices; not allowed with ``batch_size``, ``shuffle`` or ``drop_last``.
        batch_size: the number of samples in a batch; None returns single samples.
        shuffle: True for a new random order in each epoch, drawn by the engine's generator.
        drop_last: True to leave out a shorter last batch.
        collate_fn: makes a batch of a list of samples; by default, corresponding parts are stacked, which copies them.
        num_workers: must be 0, because this process itself makes each batch when the batch is requested.
        share: only minitensor has this argument. True if batches are views of the tensors of a TensorDataset; False if
            batches and single samples are always copied. By default batches are copied (unless ``collate_fn`` does not
            copy), and single samples are not.

    Raises:
        ValueError, TypeError: if arguments contradict each other, or if ``num_workers`` is above 0.
    """

    _rows = TensorDataset

    def __init__(
        self,
        dataset: Any,
        feed_list: None = None,
        places: Any = None,
        return_list: bool = True,
        batch_sampler: Iterable[Any] | None = None,
        batch_size: int | None = 1,
        shuffle: bool = False,
        drop_last: bool = False,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        num_workers: int = 0,
        *,
        share: bool | None = None,
    ) -> None:
        self.dataset, self.share, self.batch_size = dataset, share, batch_size
        shuffle = checks.flag("DataLoader", "shuffle", shuffle)
        self.drop_last = drop_last = checks.flag("DataLoader", "drop_last", drop_last)
        if collate_fn is not None:
            checks.function("DataLoader", "collate_fn", collate_fn)
        self._own_collate = collate_fn is not None
        self.collate = collate_fn or (lambda samples: collated(samples, _join, "DataLoader"))
        self._check(num_workers)
        self.shuffle = shuffle
        if batch_sampler is not None:
            if not checks.is_iterable(batch_sampler):
                raise checks.refused("DataLoader", "batch_sampler", "an iterable of lists of indices", batch_sampler)
            if type(batch_size) is not int or batch_size != 1 or shuffle or drop_last:
                raise ValueError("batch_size/shuffle/drop_last should not be set when batch_sampler is given")
            self.batches, self.batch_size = batch_sampler, None
            return
        if batch_size is not None and (
            isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1
        ):
            raise ValueError(
                f"batch_size should be None or a positive value when batch_sampler is not given; it is "
                f"{shown(batch_size)}"
            )
        self.batches = None
        if isinstance(dataset, datasets.IterableDataset):
            if shuffle:
                raise ValueError("shuffle: an IterableDataset defines its own order")
        elif batch_size is not None:
            self.batches = BatchSampler(dataset, shuffle=shuffle, batch_size=batch_size, drop_last=drop_last)

    def _order(self) -> Any:
        return RandomSampler(self.dataset) if self.shuffle else SequenceSampler(self.dataset)

    def _tensor(self, array: np.ndarray) -> Any:
        return to_tensor(array)
