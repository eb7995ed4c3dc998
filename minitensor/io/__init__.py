"""Data sets and loaders under Paddle's names: ``from minitensor.io import DataLoader, TensorDataset``.

By default, the engine's generator draws the random numbers; ``minitensor.seed`` seeds it.
"""

from minitensor.engine.data.datasets import ConcatDataset, Dataset, IterableDataset, Subset
from minitensor.engine.data.samplers import Sampler
from minitensor.io.batches import BatchSampler, DataLoader, RandomSampler, SequenceSampler, TensorDataset, random_split
from minitensor.paddle.missing import missing

__all__ = [
    *("BatchSampler", "ConcatDataset", "DataLoader", "Dataset", "IterableDataset", "RandomSampler", "Sampler"),
    *("SequenceSampler", "Subset", "TensorDataset", "random_split"),
]


def __getattr__(name: str) -> object:
    raise missing(__name__, name, __all__)
