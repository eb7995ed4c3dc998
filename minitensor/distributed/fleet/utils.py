"""``paddle.distributed.fleet.utils``: recompute a part of a network in backward, instead of keeping saved tensors."""

from minitensor.engine.autograd.recomputing import recompute

__all__ = ["recompute"]
