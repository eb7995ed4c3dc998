"""``paddle.distributed.fleet``, of which only :mod:`~minitensor.distributed.fleet.utils` exists."""

from minitensor.distributed.fleet import utils

__all__ = ["utils"]
