"""``paddle.distributed.fleet.utils``: forget what a part of the network saved, and compute it again in backward."""

from minitensor.autograd.recomputing import recompute

__all__ = ["recompute"]
