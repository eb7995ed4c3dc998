"""``paddle.distributed.fleet``: only :mod:`~minitensor.distributed.fleet.utils`, which needs no other process."""

from minitensor.distributed.fleet import utils

__all__ = ["utils"]
