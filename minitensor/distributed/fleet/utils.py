"""``paddle.distributed.fleet.utils``: free the saved tensors of a part of the network, and recompute it in backward."""

from minitensor.engine.autograd.recomputing import recompute

__all__ = ["recompute"]
