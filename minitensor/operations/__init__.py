"""Rows of the derivative table as functions: normal, in place and backward, compiled when they are first looked up.

May import: the ground files, ``device``, ``core``, ``kernels``, ``table``, ``creation``, ``saving``.
"""

from minitensor.operations.compiling import FUNCTIONS, source
from minitensor.operations.methods import Method, found_in

__all__ = ["FUNCTIONS", "Method", "found_in", "source"]
