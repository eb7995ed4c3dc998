"""``paddle.distributed.fleet``. It contains only :mod:`~minitensor.distributed.fleet.utils`, which also works in one
process.
"""

from minitensor.distributed.fleet import utils

__all__ = ["utils"]
