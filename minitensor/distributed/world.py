"""The group of processes that train together, and the rank of this process."""

from __future__ import annotations

from typing import Any

from minitensor.distributed.mpi import Mpi
from minitensor.distributed.nccl import Nccl
from minitensor.engine.checks import shown

Link = Mpi | Nccl

#: The connection to the other ranks; None until :func:`init_parallel_env`.
_link: Link | None = None


def init_parallel_env(comm: Any = None, backend: str = "mpi", timeout: float = 60.0, cuda_aware: bool = False) -> None:
    """Join the other ranks; every one of them has to call it.

    Args:
        comm: a communicator of mpi4py; by default all processes that ``mpiexec`` started.
        backend: "mpi", for tensors on any device, or "nccl", for tensors on CUDA devices, one for each rank.
        timeout: seconds to wait for another rank before an error is raised.
        cuda_aware: True if this MPI accesses the memory of a CUDA device itself. Otherwise data is copied to the host.

    Raises:
        ImportError: if mpi4py is not installed, or CuPy for "nccl".
        ValueError: if ``backend`` is unknown, or if ``timeout`` is not above 0.
    """
    global _link
    if backend not in ("mpi", "nccl"):
        raise ValueError(f'init_parallel_env: backend is "mpi" or "nccl", not {shown(backend)}')
    if not timeout > 0:
        raise ValueError(f"init_parallel_env: timeout is a number of seconds above 0, not {shown(timeout)}")
    if comm is None:
        try:
            from mpi4py import MPI
        except ImportError as error:
            raise ImportError(
                "init_parallel_env: the ranks communicate through MPI, and mpi4py is not installed. "
                "`pip install mpi4py mpich` installs both, and `mpiexec -n 4 python program.py` starts four ranks."
            ) from error
        comm = MPI.COMM_WORLD
    mpi = Mpi(comm, float(timeout), cuda_aware)
    _link = mpi if backend == "mpi" else Nccl(mpi)


def is_initialized() -> bool:
    """True if this process has joined other ranks."""
    return _link is not None


def get_rank() -> int:
    """Return the number of this process among the ranks, counted from 0; it is 0 before :func:`init_parallel_env`."""
    return 0 if _link is None else _link.rank


def get_world_size() -> int:
    """Return the number of ranks; 1 before :func:`init_parallel_env`."""
    return 1 if _link is None else _link.size


def link_for(op: str) -> Link:
    """Return the connection to the other ranks.

    Raises:
        RuntimeError: before :func:`init_parallel_env`.
    """
    if _link is None:
        raise RuntimeError(
            f"{op}: this process has not joined the others. Call `distributed.init_parallel_env()` on every rank first."
        )
    return _link
