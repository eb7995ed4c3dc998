"""Which processes belong together, and which of them this one is."""

from __future__ import annotations

from typing import Any

from minitensor.distributed.mpi import Mpi
from minitensor.distributed.nccl import Nccl

Link = Mpi | Nccl

#: How this process reaches the others; None until :func:`init_parallel_env`.
_link: Link | None = None


def init_parallel_env(comm: Any = None, backend: str = "mpi", timeout: float = 60.0, cuda_aware: bool = False) -> None:
    """Join the other ranks; every one of them has to call it.

    Args:
        comm: a communicator of mpi4py; all processes that ``mpiexec`` started, unless told.
        backend: "mpi", for tensors of any device, or "nccl", for those on CUDA devices alone, each rank with its own.
        timeout: seconds to wait for another rank before that is an error.
        cuda_aware: whether this MPI reads and writes the memory of a CUDA device itself. Without it, numbers go through
            the host.

    Raises:
        ImportError: without mpi4py, or without CuPy for "nccl".
        ValueError: for another backend, or a timeout that is not above 0.
    """
    global _link
    if backend not in ("mpi", "nccl"):
        raise ValueError(f'init_parallel_env: backend is "mpi" or "nccl", not {backend!r}')
    if not timeout > 0:
        raise ValueError(f"init_parallel_env: timeout is a number of seconds above 0, not {timeout!r}")
    if comm is None:
        try:
            from mpi4py import MPI
        except ImportError as error:
            raise ImportError(
                "init_parallel_env: the ranks talk to each other through MPI, and mpi4py is not installed. "
                "`pip install mpi4py mpich` installs both, and `mpiexec -n 4 python program.py` starts four ranks."
            ) from error
        comm = MPI.COMM_WORLD
    mpi = Mpi(comm, float(timeout), cuda_aware)
    _link = mpi if backend == "mpi" else Nccl(mpi)


def is_initialized() -> bool:
    """Whether this process has joined others."""
    return _link is not None


def get_rank() -> int:
    """The number of this process among the ranks, from 0 on; 0 before :func:`init_parallel_env`."""
    return 0 if _link is None else _link.rank


def get_world_size() -> int:
    """How many ranks there are; 1 before :func:`init_parallel_env`."""
    return 1 if _link is None else _link.size


def link_for(op: str) -> Link:
    """How to reach the others.

    Raises:
        RuntimeError: before :func:`init_parallel_env`.
    """
    if _link is None:
        raise RuntimeError(
            f"{op}: this process knows of no others. Call `distributed.init_parallel_env()` first, on every rank."
        )
    return _link
