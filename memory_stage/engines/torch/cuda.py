"""Read the meters of NVIDIA GPUs from torch's allocator.

It follows torch's documentation. Without a GPU most of its tests are skipped.

* The counters are on the host, so reading them does not wait for the GPU. This module uses a GPU only after the
  program has used it.
* Reading a number waits for the GPU, which changes times and no result. It would break the capture of a CUDA graph, so
  nothing is recorded during a capture.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

#: Torch's allocator allocates multiples of so many bytes.
ROUNDED_TO = 512


CAPTURED = "What a CUDA graph captures is not recorded, only what it leaves in memory."


def is_capturing() -> bool:
    """True while the GPU's work is captured as a graph, so that nothing may wait for it."""
    return torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing()


@dataclass(frozen=True)
class Counted:
    """The counters of a GPU's allocator, in bytes."""

    allocated: int
    reserved: int


class Gpu:
    """The meter of one GPU."""

    def __init__(self, index: int) -> None:
        self._index = index

    @property
    def name(self) -> str:
        """Return torch's name of the GPU."""
        return f"cuda:{self._index}"

    def counters(self) -> Counted:
        """Return the counters now."""
        return Counted(torch.cuda.memory_allocated(self._index), torch.cuda.memory_reserved(self._index))

    @staticmethod
    def counted(nbytes: int) -> int:
        """Return the bytes that the allocator counts for a storage; for a large one it may count a little more."""
        return -(-nbytes // ROUNDED_TO) * ROUNDED_TO


_known: dict[int, Gpu] = {}


def gpu_at(device: Any) -> Gpu | None:
    """Return the meter of a device; None for the host."""
    if device.type != "cuda":
        return None
    index = device.index or 0
    if index not in _known:
        _known[index] = Gpu(index)
    return _known[index]


def gpus() -> list[Gpu]:
    """Return the meters of all GPUs that the program uses."""
    if not torch.cuda.is_initialized():
        return []
    return [gpu for index in range(torch.cuda.device_count()) if (gpu := gpu_at(torch.device("cuda", index)))]
