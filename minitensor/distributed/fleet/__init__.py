"""``paddle.distributed.fleet``: only :mod:`~minitensor.distributed.fleet.utils`, which needs no other process.

May import: all that stands below ``distributed``.
"""

from minitensor.distributed.fleet import utils

__all__ = ["utils"]
