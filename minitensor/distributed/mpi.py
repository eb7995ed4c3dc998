"""Send arrays and small messages between ranks, through a communicator of mpi4py.

All ranks have to make the same calls in the same order. Every call has a name (``what``). If a rank has waited longer
than the timeout, all waiting ranks exchange the names of their calls, so that each of them can report the missing
ranks.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from minitensor.engine.device.arrays import gpu_of

Array = Any

#: Times in seconds: how long a rank polls without a pause; how long it sleeps between later polls; and how long, at
#: least, it waits after its timeout for the messages of other waiting ranks.
AT_ONCE, SLEEP, LISTENING = 2e-4, 2e-4, 1.0
#: The MPI tag of the messages of waiting ranks.
WAITING = 32_000


class Mpi:
    """A connection to the ranks of a communicator.

    Attributes:
        rank, size: the number of this process, and the number of processes.
    """

    def __init__(self, comm: Any, timeout: float, cuda_aware: bool = False) -> None:
        from mpi4py import MPI

        self._mpi, self._timeout, self._cuda_aware = MPI, timeout, cuda_aware
        self.comm = comm.Dup()  # a duplicate never receives the program's messages
        self.rank, self.size = int(comm.Get_rank()), int(comm.Get_size())
        # Requests for which this rank stopped waiting. They keep their memory alive: MPI may still write into it.
        self._abandoned: list[Any] = []

    # ---------- arrays, in place ----------

    def all_reduce(self, array: Array, op: str, what: str) -> None:
        """Overwrite the contiguous ``array``, of the same shape on all ranks, with its reduction by ``op``."""
        reduce, operation = self.comm.Iallreduce, getattr(self._mpi, op.upper())
        self._on_buffer(array, lambda buffer: self._wait(reduce(self._mpi.IN_PLACE, buffer, operation), what))

    def broadcast(self, array: Array, source: int, what: str) -> None:
        """Overwrite ``array`` with the array of rank ``source``."""
        self._on_buffer(array, lambda buffer: self._wait(self.comm.Ibcast(buffer, source), what))

    def _on_buffer(self, array: Array, send: Any) -> None:
        """Call ``send`` with memory that MPI can access: ``array`` itself or, for most GPU arrays, a copy on the host.

        After the call, the copy is written back. A GPU array is copied unless MPI can access it (CUDA-aware MPI).
        """
        gpu = gpu_of(array)
        if gpu is None:
            send(array)
        elif self._cuda_aware and hasattr(array, "__cuda_array_interface__"):
            gpu.synchronize()
            send(array)
        else:
            host = array.get()
            send(host)
            array[...] = gpu.put(host)

    # ---------- small messages ----------

    def gather(self, value: Any, what: str) -> list[Any]:
        """Return on every rank a list of the values of all ranks, ordered by rank. The values must be picklable."""
        self.barrier(what)  # `barrier` has a timeout, and `allgather` has none
        return list(self.comm.allgather(value))

    def all_equal(self, number: int, what: str) -> bool:
        """True if ``number``, of at most 62 bits, is the same on every rank."""
        ends = np.array([number, -number], np.int64)
        self._wait(self.comm.Iallreduce(self._mpi.IN_PLACE, ends, self._mpi.MAX), what)
        return bool(ends[0] == -ends[1])

    def barrier(self, what: str) -> None:
        """Wait until every rank has called this method."""
        self._wait(self.comm.Ibarrier(), what)

    # ---------- waiting with a timeout ----------

    def _wait(self, request: Any, what: str) -> None:
        began = time.monotonic()
        while not request.Test():
            waited = time.monotonic() - began
            if waited > AT_ONCE:
                # A rank that gives up notifies the others, so that all give up together.
                if waited > self._timeout or self.comm.Iprobe(self._mpi.ANY_SOURCE, WAITING):
                    self._abandoned.append(request)
                    raise RuntimeError(self._missing(what, waited))
                time.sleep(SLEEP)

    def _missing(self, what: str, waited: float) -> str:
        """Exchange the names of calls with the other waiting ranks; return a message that names the missing ranks."""
        others = [rank for rank in range(self.size) if rank != self.rank]
        sent = [self.comm.isend(what, rank, WAITING) for rank in others]
        received: dict[int, str] = {}
        end = time.monotonic() + max(LISTENING, 0.25 * self._timeout)
        while time.monotonic() < end and len(received) < len(others):
            for rank in others:
                if rank not in received and self.comm.Iprobe(rank, WAITING):
                    received[rank] = self.comm.recv(source=rank, tag=WAITING)
            time.sleep(SLEEP)
        del sent  # do not wait for these requests, because a rank that has ended receives nothing
        absent = [rank for rank in others if rank not in received]
        elsewhere = [f"rank {rank} waits in {where}" for rank, where in received.items() if where != what]
        missing = [f"{ranks_text(absent)} did not arrive"] if absent else []
        return (
            f"{what}: rank {self.rank} has waited {waited:.0f} s; {'; '.join([*missing, *elsewhere])}. "
            f"Every rank has to make the same calls in the same order, also inside `if rank == 0`."
        )


def ranks_text(ranks: list[int]) -> str:
    """Return ranks as text, such as "ranks 1, 2 and 3"."""
    numbers = [str(rank) for rank in ranks]
    if len(numbers) < 2:
        return f"rank {''.join(numbers)}"
    return f"ranks {', '.join(numbers[:-1])} and {numbers[-1]}"
