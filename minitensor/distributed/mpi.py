"""Arrays and small messages between ranks, through a communicator of mpi4py.

Every call names what it is part of. All ranks have to make the same calls in the same order. A rank that waits longer
than the timeout tells the others where it waits, and learns so who does not wait with it.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from minitensor.device.arrays import gpu_of

Array = Any

#: Seconds: how long a rank keeps asking at once, how long it sleeps between later questions, and how long it listens
#: for those who wait, too.
AT_ONCE, SLEEP, LISTENING = 2e-4, 2e-4, 1.0
#: The tag of messages about waiting; a program has its own tags below it.
WAITING = 32_000


class Mpi:
    """The ranks of a communicator.

    Attributes:
        rank, size: the number of this process, and how many there are.
    """

    def __init__(self, comm: Any, timeout: float, cuda_aware: bool = False) -> None:
        from mpi4py import MPI

        self._mpi, self._timeout, self._cuda_aware = MPI, timeout, cuda_aware
        self.comm = comm.Dup()  # messages of the program's own do not meet those of this one
        self.rank, self.size = int(comm.Get_rank()), int(comm.Get_size())
        self._given_up: list[Any] = []  # MPI may write into their memory as long as they are there

    # ---------- arrays, in place ----------

    def all_reduce(self, array: Array, op: str, what: str) -> None:
        """Overwrite ``array``, contiguous and alike on all ranks, by the sum (or what ``op`` says) over the ranks."""
        reduce, operation = self.comm.Iallreduce, getattr(self._mpi, op.upper())
        self._on_buffer(array, lambda buffer: self._wait(reduce(self._mpi.IN_PLACE, buffer, operation), what))

    def broadcast(self, array: Array, source: int, what: str) -> None:
        """Overwrite ``array`` by that of the rank ``source``."""
        self._on_buffer(array, lambda buffer: self._wait(self.comm.Ibcast(buffer, source), what))

    def _on_buffer(self, array: Array, send: Any) -> None:
        """Call ``send`` with memory that MPI can read and write; on a GPU that is a copy on the host, unless told."""
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

    # ---------- small things ----------

    def gather(self, value: Any, what: str) -> list[Any]:
        """What every rank gives, by rank, on all ranks; it can be pickled."""
        self.barrier(what)  # which comes to an end where a rank is missing
        return list(self.comm.allgather(value))

    def all_equal(self, number: int, what: str) -> bool:
        """Whether every rank gives the same number, of at most 62 bits."""
        ends = np.array([number, -number], np.int64)
        self._wait(self.comm.Iallreduce(self._mpi.IN_PLACE, ends, self._mpi.MAX), what)
        return bool(ends[0] == -ends[1])

    def barrier(self, what: str) -> None:
        """Wait until every rank is here."""
        self._wait(self.comm.Ibarrier(), what)

    # ---------- waiting, and not for ever ----------

    def _wait(self, request: Any, what: str) -> None:
        began = time.monotonic()
        while not request.Test():
            waited = time.monotonic() - began
            if waited > AT_ONCE:
                # Who gives up tells the others: all give up together.
                if waited > self._timeout or self.comm.Iprobe(self._mpi.ANY_SOURCE, WAITING):
                    self._given_up.append(request)
                    raise RuntimeError(self._missing(what, waited))
                time.sleep(SLEEP)

    def _missing(self, what: str, waited: float) -> str:
        """Who has not come, in words: tells the others where this rank waits, and listens to them."""
        others = [rank for rank in range(self.size) if rank != self.rank]
        sent = [self.comm.isend(what, rank, WAITING) for rank in others]
        heard: dict[int, str] = {}
        end = time.monotonic() + max(LISTENING, 0.25 * self._timeout)
        while time.monotonic() < end and len(heard) < len(others):
            for rank in others:
                if rank not in heard and self.comm.Iprobe(rank, WAITING):
                    heard[rank] = self.comm.recv(source=rank, tag=WAITING)
            time.sleep(SLEEP)
        del sent  # a rank that is gone will not take them
        absent = [rank for rank in others if rank not in heard]
        elsewhere = [f"rank {rank} waits in {where}" for rank, where in heard.items() if where != what]
        said = [f"{ranks_text(absent)} did not come"] if absent else []
        return (
            f"{what}: rank {self.rank} has waited {waited:.0f} s; {'; '.join([*said, *elsewhere])}. "
            f"Every rank has to make the same calls in the same order, also where `if rank == 0` decides."
        )


def ranks_text(ranks: list[int]) -> str:
    """Ranks in words."""
    numbers = [str(rank) for rank in ranks]
    if len(numbers) < 2:
        return f"rank {''.join(numbers)}"
    return f"ranks {', '.join(numbers[:-1])} and {numbers[-1]}"
