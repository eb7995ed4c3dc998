"""Neural networks: for now the functions."""

from minitensor.nn import functional

__all__ = ["functional"]
