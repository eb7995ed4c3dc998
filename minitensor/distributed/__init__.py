"""Training of one network by several processes, called *ranks*, under the names of Paddle's ``distributed``.

A program starts it with :func:`init_parallel_env`. Before that, this package does not import MPI.

* :func:`all_reduce` and :func:`broadcast` write their tensor in place, as one counted write.
* :func:`sum_over_ranks` is the sum as a normal operation with a gradient.
* :mod:`fleet` has functions that save memory in training, on one rank or many: ``fleet.utils.recompute``.
* :func:`average_gradients` makes the ranks train one network; :func:`check_equal` checks that they do.

Every wait for another rank has a timeout; then an error names the ranks that are missing.
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

__all__ = [
    *("RanksDifferError", "ReduceOp", "all_reduce", "average_gradients", "barrier", "broadcast", "check_equal"),
    *(
        "checksum",
        "fleet",
        "gather",
        "get_rank",
        "get_world_size",
        "init_parallel_env",
        "is_initialized",
        "sum_over_ranks",
    ),
]
