"""``torch.utils.data``: data sets, orders of their samples, and batches.

Random orders are the same as in PyTorch. For a :class:`RandomSampler` without a generator, the default generator draws
a seed, and a new generator with this seed draws the order. By default, everything else that is random uses the default
generator itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.checks import shown
from minitensor.engine.data import datasets, samplers
from minitensor.engine.data.datasets import ConcatDataset, Dataset, IterableDataset, Subset  # noqa: F401  # part of this namespace
from minitensor.engine.data.loading import Loader, collated
from minitensor.engine.data.samplers import Sampler
from minitensor.torch.creation import as_tensor, tensor
from minitensor.torch.dtypes import float64
from minitensor.torch.errors import missing_in
from minitensor.torch.generator import Generator, default_generator, generator_of
from minitensor.torch.random import multinomial
from minitensor.torch.slicing_joining import stack
from minitensor.torch.tensor import Tensor

__all__ = [
    *("BatchSampler", "ConcatDataset", "DataLoader", "Dataset", "IterableDataset", "RandomSampler", "Sampler"),
    *("SequentialSampler", "Subset", "SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler"),
    *("default_collate", "random_split"),
]


class TensorDataset(datasets.Rows):
    """A data set of the rows of ``tensors``: sample i is a tuple of the rows i of all tensors.

    The rows are views, or copies with ``share=False``. PyTorch has no argument ``share``.

    Raises:
        TypeError, AssertionError: if the arguments are not tensors, or their first dimensions differ in length.
    """

    def __init__(self, *tensors: Tensor, share: bool = True) -> None:
        super().__init__(tensors, share)


@checks.with_own_methods
class SequentialSampler(samplers.InOrder):
    """The indices of a data set in order: 0, 1, 2, ...

    Raises:
        TypeError: if the data set has no length.
    """


def _seed() -> int:
    """Return a number of 63 bits from the default generator."""
    return int(default_generator.long_words(1)[0] % np.uint64(2**63))


@checks.with_own_methods
class RandomSampler(samplers.Shuffled):
    """Every index of a data set once, in random order. With ``replacement``, independent random indices instead.

    Raises:
        ValueError: if ``num_samples`` is below 1.
    """

    def _check_generator(self, generator: Any) -> Any:
        return None if generator is None else generator_of(generator)

    def _draw_function(self) -> Callable[[str, int, int], list[int]]:
        generator = Generator().manual_seed(_seed()) if self.generator is None else self.generator

        def draw(kind: str, length: int, count: int) -> list[int]:
            if kind == "order":
                return generator.permutation(length).tolist()
            return generator.integers((count,), 0, length).tolist()

        return draw


class SubsetRandomSampler(Sampler):
    """The given indices, in random order."""

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        super().__init__()
        checks.instance("SubsetRandomSampler()", "indices", indices, Sequence, "a sequence of indices")
        self.indices, self.generator = indices, None if generator is None else generator_of(generator)

    def __iter__(self) -> Any:
        order = (self.generator or default_generator).permutation(len(self.indices))
        return (self.indices[i] for i in order.tolist())

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """``num_samples`` random indices, drawn with probabilities in proportion to ``weights``.

    Raises:
        ValueError: if ``num_samples`` is below 1.
        RuntimeError: on iteration, if ``replacement`` is false and there are fewer weights than ``num_samples``.
    """

    def __init__(
        self, weights: Sequence[float], num_samples: int, replacement: bool = True, generator: Generator | None = None
    ) -> None:
        super().__init__()
        if isinstance(num_samples, bool) or not isinstance(num_samples, int) or num_samples < 1:
            raise ValueError(
                f"num_samples should be a positive integer value, but got num_samples={shown(num_samples)}"
            )
        self.weights, self.num_samples = as_tensor(weights, dtype=float64), num_samples
        self.replacement = checks.flag("WeightedRandomSampler()", "replacement", replacement)
        self.generator = None if generator is None else generator_of(generator)
        if self.weights._array.ndim != 1:
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape {tuple(self.weights._array.shape)}"
            )

    def __iter__(self) -> Any:
        return iter(multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator).tolist())

    def __len__(self) -> int:
        return self.num_samples


@checks.with_own_methods
class BatchSampler(samplers.Batches):
    """Lists of ``batch_size`` indices from a sampler. With ``drop_last``, a shorter last list is left out.

    Raises:
        ValueError: if ``batch_size`` is not a positive integer.
    """


def random_split(
    dataset: Any, lengths: Sequence[float], generator: Generator = default_generator
) -> list[datasets.Subset]:
    """Split ``dataset`` at random into parts. ``lengths`` has the length of each part, or its share of the data set.

    Raises:
        ValueError: if ``lengths`` sum neither to the length of the data set nor, as shares, to 1.
    """
    datasets.need_samples("random_split()", dataset)
    generator = generator_of(generator)
    counts = datasets.lengths_of(len(dataset), lengths)
    return datasets.split(dataset, counts, generator.permutation(len(dataset)).tolist())


def _join(samples: list[Any]) -> Any:
    first = samples[0]
    if isinstance(first, Tensor):
        return stack(samples)
    if isinstance(first, (np.ndarray, np.number, np.bool_)):
        return stack([as_tensor(each) for each in samples])
    if isinstance(first, float):
        return tensor(samples, dtype=float64)
    return tensor(samples) if isinstance(first, int) else NotImplemented


def default_collate(batch: list[Any]) -> Any:
    """Return a list of samples as a batch. Tensors, arrays and numbers are stacked into a new tensor.

    Strings remain a list. If the samples are tuples or dicts, each of their parts becomes a batch.

    Raises:
        TypeError: if a sample has another type.
        ValueError: if there is no sample.
        RuntimeError: if the shapes differ.
    """
    checks.instance("default_collate()", "batch", batch, Sequence, "a list of samples")
    if not batch:
        raise ValueError("default_collate(): batch must have at least one sample")
    return collated(batch, _join, "default_collate")


def _check_settings_of_workers(timeout: Any, init: Any, context: Any, prefetch: Any, persistent: Any) -> None:
    """Raise ValueError or TypeError for settings that PyTorch refuses without workers."""
    op = "DataLoader()"
    if checks.real(op, "timeout", timeout) < 0:
        raise ValueError("timeout option should be non-negative")
    if prefetch is not None:
        raise ValueError("prefetch_factor option needs workers; leave it out, because num_workers is 0")
    if checks.flag(op, "persistent_workers", persistent):
        raise ValueError("persistent_workers option needs num_workers > 0")
    if context is not None:
        raise ValueError("multiprocessing_context can only be used with multi-process loading (num_workers > 0)")
    if init is not None:
        checks.function(op, "worker_init_fn", init)


class DataLoader(Loader):  # PyTorch and Paddle share the meaning of most arguments, but not their order and checks
    """An iterable over the batches of ``dataset``.

    Args:
        dataset: a Dataset, an IterableDataset, or anything with ``__getitem__`` and ``__len__``.
        batch_size: the number of samples in a batch; None returns single samples.
        shuffle: True for a new random order in each epoch.
        sampler: an iterable over the indices of samples in order. It is not allowed with ``shuffle``.
        batch_sampler: an iterable over lists of indices. It is not allowed with ``batch_size``, ``shuffle``,
            ``sampler`` or ``drop_last``.
        num_workers: must be 0, because this process creates each batch when it is requested.
        collate_fn: a function that returns a batch for a list of samples; by default :func:`default_collate`.
        pin_memory: has no effect.
        drop_last: True to leave out the last batch if it is shorter.
        timeout, worker_init_fn, multiprocessing_context, prefetch_factor, persistent_workers: settings of workers. They
            are checked as PyTorch checks them without workers, and have no effect.
        generator: the generator that draws the order.
        share: True for batches that are views of the tensors of a TensorDataset. False for copies in every case, even
            with ``batch_size=None``. By default batches are copied (unless ``collate_fn`` does not copy), and single
            samples are not. PyTorch has no such argument.

    Raises:
        ValueError, TypeError: if arguments contradict each other, or if ``num_workers`` is above 0.
    """

    _rows = TensorDataset

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        share: bool | None = None,
    ) -> None:
        self.dataset, self.share, self.batch_size, self.drop_last = dataset, share, batch_size, drop_last
        shuffle = False if shuffle is None else checks.flag("DataLoader()", "shuffle", shuffle)
        self.drop_last = drop_last = checks.flag("DataLoader()", "drop_last", drop_last)
        if batch_size is not None and (type(batch_size) is not int or batch_size < 1):
            raise ValueError(
                f"batch_size should be a positive integer value, but got batch_size={checks.shown(batch_size)}"
            )
        for name, each in (("sampler", sampler), ("batch_sampler", batch_sampler)):
            if each is not None and not checks.is_iterable(each):
                raise checks.refused("DataLoader()", name, "an iterable", each)
        self._own_collate = collate_fn is not None
        self.collate = (
            default_collate if collate_fn is None else checks.function("DataLoader()", "collate_fn", collate_fn)
        )
        self.generator = None if generator is None else generator_of(generator)
        self._check(num_workers)
        _check_settings_of_workers(
            timeout, worker_init_fn, multiprocessing_context, prefetch_factor, persistent_workers
        )
        self.batches = self.sampler = None
        if isinstance(dataset, IterableDataset):
            if shuffle or sampler is not None or batch_sampler is not None:
                raise ValueError("DataLoader with IterableDataset: expected unspecified shuffle and sampler options")
            return
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            self.batches, self.batch_size = batch_sampler, None
            return
        if sampler is None:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        self.sampler = sampler
        if batch_size is not None:
            self.batches = BatchSampler(sampler, batch_size, drop_last)
        elif drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")

    @property
    def batch_sampler(self) -> Any:
        """The iterable over the lists of indices of the batches; None if samples are read one by one."""
        return self.batches

    @property
    def num_workers(self) -> int:
        """The number of worker processes, which is 0."""
        return 0

    @property
    def collate_fn(self) -> Callable[[list[Any]], Any]:
        """The function that returns a batch for a list of samples."""
        return self.collate

    def __iter__(self) -> Any:
        # As in PyTorch, a seed for workers is drawn at the start of each loop, even if there are no workers.
        (default_generator if self.generator is None else self.generator).long_words(1)
        return super().__iter__()

    def _order(self) -> Any:
        return self.sampler

    def _tensor(self, array: np.ndarray) -> Any:
        return as_tensor(array)


__getattr__ = missing_in("torch.utils.data", lambda: __all__)
