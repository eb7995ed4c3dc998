"""Train one network in several processes, called *ranks*, under the names of Paddle's ``distributed``.

A program first calls :func:`init_parallel_env`, which imports MPI. Importing this package does not.

* :func:`all_reduce` and :func:`broadcast` write their tensor in place; the write increments its version.
* :func:`sum_over_ranks` returns the sum as a new tensor through which gradients flow.
* :func:`average_gradients` keeps the parameters of all ranks equal in training; :func:`check_equal` checks that they
  are equal.
* :mod:`fleet` has ``fleet.utils.recompute``, which saves memory in training, on one rank or many.

Every wait for another rank has a timeout, after which an error names the ranks that did not arrive.
"""

from minitensor.distributed import fleet
from minitensor.distributed.agreement import RanksDifferError, check_equal, checksum
from minitensor.distributed.collectives import (
    ReduceOp,
    all_reduce,
    average_gradients,
    barrier,
    broadcast,
    gather,
    sum_over_ranks,
)
from minitensor.distributed.world import get_rank, get_world_size, init_parallel_env, is_initialized
from minitensor.paddle.missing import missing

__all__ = [
    *("RanksDifferError", "ReduceOp", "all_reduce", "average_gradients", "barrier", "broadcast", "check_equal"),
    *("checksum", "fleet", "gather", "get_rank", "get_world_size", "init_parallel_env", "is_initialized"),
    "sum_over_ranks",
]


def __getattr__(name: str) -> object:
    raise missing(__name__, name, __all__)
