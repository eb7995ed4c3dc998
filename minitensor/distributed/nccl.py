"""Send arrays between CUDA devices through CuPy's NCCL, in place and without a copy on the host.

Each rank has a separate device. MPI connects the ranks, and sends all other data.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitensor.distributed.mpi import Mpi
from minitensor.engine.device.arrays import gpu_of

Array = Any

#: The numbers by which NCCL identifies dtypes and operations, from nccl.h.
_NAMES = {0: "int8", 1: "uint8", 2: "int32", 4: "int64", 6: "float16", 7: "float32", 8: "float64"}
DTYPES = {np.dtype(name): number for number, name in _NAMES.items()}
OPERATIONS = {"sum": 0, "prod": 1, "max": 2, "min": 3}


class Nccl:
    """A connection that sends arrays between CUDA devices. An :class:`Mpi` connects the same ranks."""

    def __init__(self, mpi: Mpi) -> None:
        try:
            from cupy.cuda import get_current_stream, nccl
        except ImportError as error:
            raise ImportError(
                'init_parallel_env: backend "nccl" needs CuPy with NCCL and a CUDA device for each rank; '
                'backend "mpi" works on any device.'
            ) from error
        self._mpi, self._stream = mpi, get_current_stream
        self.rank, self.size = mpi.rank, mpi.size
        unique_id = mpi.gather(nccl.get_unique_id() if mpi.rank == 0 else None, "init_parallel_env")[0]
        self._nccl = nccl.NcclCommunicator(self.size, unique_id, self.rank)

    def all_reduce(self, array: Array, op: str, what: str) -> None:
        """Overwrite the contiguous ``array``, of one shape on all ranks, with its sum (or ``op``) over the ranks."""
        pointer, count, dtype = self._describe(array, what)
        self._mpi.barrier(what)  # NCCL itself has no timeout
        self._nccl.allReduce(pointer, pointer, count, dtype, OPERATIONS[op], self._stream().ptr)

    def broadcast(self, array: Array, source: int, what: str) -> None:
        """Overwrite ``array`` with the array of rank ``source``."""
        pointer, count, dtype = self._describe(array, what)
        self._mpi.barrier(what)
        self._nccl.broadcast(pointer, pointer, count, dtype, source, self._stream().ptr)

    def _describe(self, array: Array, what: str) -> tuple[int, int, int]:
        if gpu_of(array) is None or not hasattr(array, "data"):
            raise TypeError(f'{what}: the tensor must be on a CUDA device for backend "nccl", but it is on the host')
        if array.dtype not in DTYPES:
            allowed = ", ".join(map(str, DTYPES))
            raise TypeError(f'{what}: the dtype must be one of {allowed} for backend "nccl", not {array.dtype.name}')
        return array.data.ptr, array.size, DTYPES[array.dtype]

    def gather(self, value: Any, what: str) -> list[Any]:
        """Return on every rank a list of the values of all ranks, ordered by rank. The values must be picklable."""
        return self._mpi.gather(value, what)

    def all_equal(self, number: int, what: str) -> bool:
        """True if ``number``, of at most 62 bits, is the same on every rank."""
        return self._mpi.all_equal(number, what)

    def barrier(self, what: str) -> None:
        """Wait until every rank has called this method."""
        self._mpi.barrier(what)
