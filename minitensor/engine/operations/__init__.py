"""The functions of the derivative table: normal, in place and backward. Each is generated and compiled on first use."""

from minitensor.engine.operations.compiling import FUNCTIONS, source
from minitensor.engine.operations.methods import Method, found_in

__all__ = ["FUNCTIONS", "Method", "found_in", "source"]
