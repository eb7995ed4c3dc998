"""A loader that iterates over a data set in batches and makes each batch on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.data.datasets import IterableDataset, Rows, Subset
from minitensor.engine.data.samplers import consecutive_slice


class Loader:
    """Base of both frameworks' loaders. Subclasses define how a batch is combined, and check their arguments.

    Attributes:
        dataset: the source of the samples.
        batches: an iterable of lists of indices, one list for each batch; None if samples are read one by one.
        batch_size: only used if ``batches`` is None: the number of samples in a batch; None for single samples.
        drop_last: only used if ``batches`` is None: True to drop the last batch if it is shorter.
        collate: combines a list of samples into a batch.
        share: True if batches are views of the tensors of a TensorDataset; False if batches and single samples are
            always copied. None for the behaviour of Paddle and PyTorch: single samples are not copied, but batches
            are, unless the program passed a ``collate`` that does not copy.
    """

    dataset: Any
    batches: Any
    batch_size: int | None
    drop_last: bool
    collate: Callable[[list[Any]], Any]
    share: bool | None
    _own_collate = False  # True if the program passed a `collate`

    def _check(self, num_workers: Any) -> None:
        """Raise ValueError or TypeError for unsupported settings."""
        name = type(self).__name__
        if not isinstance(num_workers, int) or num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        if num_workers:
            raise ValueError(
                f"{name}: num_workers={checks.shown(num_workers)} is not supported: "
                f"batches are made in this process, on demand. "
                f"Leave it out, or use num_workers=0."
            )
        if self.share is not None and not isinstance(self.share, bool):
            raise TypeError(f"{name}: share must be True, False or None, not {checks.shown(self.share)}")
        if self.share and not isinstance(self.dataset, Rows):
            raise TypeError(
                f"{name}: share=True returns views of the tensors of a TensorDataset; the data set is a "
                f"{type(self.dataset).__name__}"
            )

    def __len__(self) -> int:
        if self.batches is not None:
            return len(self.batches)
        if self.batch_size is None:
            return len(self.dataset)
        count = len(self.dataset)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def __iter__(self) -> Iterator[Any]:
        if self.batches is not None:
            yield from map(self._batch, self.batches)
            return
        samples = iter(self.dataset) if isinstance(self.dataset, IterableDataset) else map(self._sample, self._order())
        if self.batch_size is None:
            yield from map(self._single, samples)
            return
        batch = []
        for sample in samples:
            batch.append(sample)
            if len(batch) == self.batch_size:
                yield self._combined(batch)
                batch = []
        if batch and not self.drop_last:
            yield self._combined(batch)

    def _order(self) -> Any:
        """Return the indices to read if samples are not combined into batches."""
        raise NotImplementedError

    def _sample(self, index: Any) -> Any:
        return self.dataset[index]

    def _batch(self, indices: Any) -> Any:
        indices = checks.elements(type(self).__name__, "batch_sampler", indices, "lists of indices")
        if self.share:
            rows = consecutive_slice(type(self).__name__, indices, len(self.dataset))
            if rows is None:
                raise ValueError(
                    f"{type(self).__name__}: share=True returns views, so the rows of a batch must be consecutive; "
                    f"this batch has the rows {indices}. Do not reorder the rows, or leave out share=True."
                )
            return [each[rows] for each in self.dataset.tensors]
        dataset: Any = self.dataset
        positions = indices
        while type(dataset) is Subset:
            dataset, positions = dataset.dataset, [dataset.indices[index] for index in positions]
        if type(dataset) is self._rows and not self._own_collate:
            return [_gather(each, positions) for each in dataset.tensors]
        return self._combined([self._sample(index) for index in indices])

    #: The framework's class of data sets of tensors. The rows of a batch are read from such a data set in one step.
    _rows: type[Any] = Rows

    def _combined(self, samples: list[Any]) -> Any:
        batch = self.collate(samples)
        return _copy(batch) if self.share is False and self._own_collate else batch

    def _single(self, sample: Any) -> Any:
        result = self.collate(sample) if self._own_collate else self._as_tensors(sample)
        return _copy(result) if self.share is False else result

    def _as_tensors(self, value: Any) -> Any:
        return self._tensor(value) if isinstance(value, np.ndarray) else rebuilt(value, self._as_tensors)

    def _tensor(self, array: np.ndarray) -> Any:
        """Convert a sample that is an array to a tensor."""
        raise NotImplementedError


def _gather(x: Any, indices: list[Any]) -> Any:
    try:
        found = np.asarray(indices)
    except ValueError:  # the lists are ragged
        found = None
    if found is None or found.ndim != 1 or found.dtype.kind not in "iu":
        found = np.array([checks.integer("DataLoader", "an index of the sampler", each) for each in indices], np.int64)
    return x[found.astype(np.int64, copy=False)]


def _copy(value: Any) -> Any:
    """Return ``value`` with all tensors and arrays copied."""
    if isinstance(value, Tensor):
        return value.clone()
    if isinstance(value, np.ndarray):
        return value.copy()
    return rebuilt(value, _copy)


def rebuilt(value: Any, change: Callable[[Any], Any]) -> Any:
    """Apply ``change`` to the parts of a list, tuple or dict; return anything else unchanged.

    The result is a dict, a named tuple of the same class, or, for a list or any other tuple, a list.
    """
    if isinstance(value, dict):
        return {name: change(part) for name, part in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(change, value))
    if isinstance(value, (list, tuple)):
        return [change(part) for part in value]
    return value


#: The limit for lists inside lists in a sample. A list that contains itself exceeds it.
MOST_LEVELS = 64


def collated(samples: Sequence[Any], join: Callable[[Any], Any], words: str, level: int = 0) -> Any:
    """Combine samples of the same form into one batch, by joining their corresponding parts.

    Strings are not joined: a list of strings remains a list. If the samples are tuples, the strings at the same place
    become a tuple.

    Args:
        join: combines tensors, arrays or numbers into one tensor; returns NotImplemented for anything else.
        words: the beginning of the error message.

    Raises:
        TypeError: if the samples cannot be combined.
        RuntimeError: if samples have different numbers of parts.
    """
    if level > MOST_LEVELS:
        raise TypeError(
            f"{words}: a sample may have lists inside lists up to {MOST_LEVELS} deep; this one is deeper, or contains "
            "itself"
        )
    first = samples[0]
    joined = join(samples)
    if joined is not NotImplemented:
        return joined
    if isinstance(first, (str, bytes)):
        return samples
    if isinstance(first, dict):
        return {name: collated([each[name] for each in samples], join, words, level + 1) for name in first}
    if isinstance(first, (list, tuple)):
        if any(len(each) != len(first) for each in samples):
            raise RuntimeError("each element in list of batch should be of equal size")
        parts = [collated(part, join, words, level + 1) for part in zip(*samples, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else parts
    raise TypeError(f"{words}: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {type(first)}")
