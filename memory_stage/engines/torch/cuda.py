"""Read the meters of NVIDIA GPUs from torch's allocator.

* The counters are in host memory, so reading them does not wait for the GPU. This module touches a GPU only if the
  program has used it already.
* Reading a tensor's numbers waits for the GPU, which changes the run time but no result. It would make the capture of a
  CUDA graph fail, so no operation is recorded during a capture.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from memory_stage.messages import message

#: Torch's allocator rounds the size of a block up to a multiple of these bytes.
ROUNDED_TO = 512


CAPTURED = message("Operations that a CUDA graph captures are not recorded, only their effects on memory.")


def is_capturing() -> bool:
    """True while torch captures the GPU's work as a CUDA graph. During this time nothing may wait for the GPU."""
    return torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing()


@dataclass(frozen=True)
class Counted:
    """The counters of a GPU's allocator, in bytes."""

    allocated: int
    reserved: int


class Gpu:
    """The meter of one NVIDIA GPU."""

    def __init__(self, index: int) -> None:
        self._index = index

    @property
    def name(self) -> str:
        """Return torch's name of the GPU."""
        return f"cuda:{self._index}"

    def counters(self) -> Counted:
        """Return the present counters."""
        return Counted(torch.cuda.memory_allocated(self._index), torch.cuda.memory_reserved(self._index))

    @staticmethod
    def counted(nbytes: int) -> int:
        """Return the bytes that the allocator counts for a storage. For a large storage it may count slightly more."""
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
    """Return the meters of all GPUs; [] if the program does not use CUDA."""
    if not torch.cuda.is_initialized():
        return []
    return [gpu for index in range(torch.cuda.device_count()) if (gpu := gpu_at(torch.device("cuda", index)))]
