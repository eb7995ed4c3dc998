"""Several processes that train one network, under the names of Paddle's ``distributed``: each of them is a *rank*.

A program says so by :func:`init_parallel_env`; until then nothing here imports MPI or knows of other processes.

* :func:`all_reduce` and :func:`broadcast` write their tensor in place, as one counted write.
* :func:`sum_over_ranks` is the sum as a normal operation, through which gradients go.
* :mod:`fleet` has what trains with less memory, on one rank or many: ``fleet.utils.recompute``.
* :func:`average_gradients` is what makes the ranks train one network; :func:`check_equal` says whether they do.

A rank waits for the others for so long and then says which of them has not come: nothing here waits for ever.
May import: all that stands below ``networks``.
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
