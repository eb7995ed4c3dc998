"""Where storages live, and how many bytes they take there."""

from minitensor.device import cpu

__all__ = ["cpu"]
