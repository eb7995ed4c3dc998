"""Connect and number the processes that train together. Each of these processes is called a rank."""

from __future__ import annotations

from numbers import Real
from typing import Any

from minitensor.distributed.mpi import Mpi
from minitensor.distributed.nccl import Nccl
from minitensor.engine.checks import shown

#: A connection to the other ranks.
Link = Mpi | Nccl

#: The connection of this process; None until :func:`init_parallel_env`.
_link: Link | None = None


def init_parallel_env(comm: Any = None, backend: str = "mpi", timeout: float = 60.0, cuda_aware: bool = False) -> None:
    """Connect this process to the other ranks. Every rank has to call this function.

    Args:
        comm: a communicator of mpi4py; by default all processes that ``mpiexec`` started.
        backend: "mpi", for tensors on any device, or "nccl", for tensors on CUDA devices, one for each rank.
        timeout: the seconds to wait for another rank before an error is raised.
        cuda_aware: for "mpi": True if MPI can access the memory of a CUDA device, False to copy data to the host first.

    Raises:
        ImportError: if mpi4py is not installed; for "nccl", also if CuPy is not installed.
        TypeError: if ``timeout`` is not a number.
        ValueError: if ``backend`` is unknown, or if ``timeout`` is not above 0.
    """
    global _link
    if backend not in ("mpi", "nccl"):
        raise ValueError(f'init_parallel_env: backend must be "mpi" or "nccl", not {shown(backend)}')
    if not isinstance(timeout, Real):
        raise TypeError(f"init_parallel_env: timeout must be a number of seconds, such as 60, not {shown(timeout)}")
    if not timeout > 0:
        raise ValueError(f"init_parallel_env: timeout must be a number of seconds above 0, not {shown(timeout)}")
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
    """True if this process has called :func:`init_parallel_env`, even if it is the only rank."""
    return _link is not None


def get_rank() -> int:
    """Return the number of this rank, counted from 0. Before :func:`init_parallel_env`, return 0."""
    return 0 if _link is None else _link.rank


def get_world_size() -> int:
    """Return the number of ranks. Before :func:`init_parallel_env`, return 1."""
    return 1 if _link is None else _link.size


def link_for(op: str) -> Link:
    """Return the connection to the other ranks.

    Args:
        op: the name of the calling function, for the error message.

    Raises:
        RuntimeError: before :func:`init_parallel_env`.
    """
    if _link is None:
        raise RuntimeError(
            f"{op}: this rank is not connected to the others. "
            "Call `distributed.init_parallel_env()` on every rank first."
        )
    return _link
