"""The meters of NVIDIA GPUs, as torch's own allocator counts.

Written to torch's documentation. Without a GPU most of its tests are left out, with the reason.

* Counters are torch's own, kept on the host: asking them waits for nothing. Before the program has begun to use a GPU
  nothing here does.
* Reading a number waits for the GPU, which changes times and no result. While a CUDA graph is captured it would spoil
  the capture, so nothing is recorded then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

#: Torch's allocator gives memory in blocks of so many bytes, or of a multiple.
ROUNDED_TO = 512


CAPTURED = "What a CUDA graph captures is not recorded, only what it leaves in memory."


def is_capturing() -> bool:
    """Whether what runs now on the GPU is captured as a graph, so that nothing may wait for it."""
    return torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing()


@dataclass(frozen=True)
class Counted:
    """What a GPU's allocator says, in bytes."""

    allocated: int
    reserved: int


class Gpu:
    """The meter of one GPU."""

    def __init__(self, index: int) -> None:
        self._index = index

    @property
    def name(self) -> str:
        """As torch calls it."""
        return f"cuda:{self._index}"

    def counters(self) -> Counted:
        """What it says now."""
        return Counted(torch.cuda.memory_allocated(self._index), torch.cuda.memory_reserved(self._index))

    @staticmethod
    def counted(nbytes: int) -> int:
        """What the allocator counts for a storage of so many bytes; of a large one it may count a little more."""
        return -(-nbytes // ROUNDED_TO) * ROUNDED_TO


_known: dict[int, Gpu] = {}


def gpu_at(device: Any) -> Gpu | None:
    """The meter of a device; None for the computer's own memory."""
    if device.type != "cuda":
        return None
    index = device.index or 0
    if index not in _known:
        _known[index] = Gpu(index)
    return _known[index]


def gpus() -> list[Gpu]:
    """Those of all GPUs that the program has begun to use."""
    if not torch.cuda.is_initialized():
        return []
    return [gpu for index in range(torch.cuda.device_count()) if (gpu := gpu_at(torch.device("cuda", index)))]
