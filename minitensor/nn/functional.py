"""Functions that networks use, normal and in place."""

from minitensor.operations import FUNCTIONS

relu = FUNCTIONS["relu"]
relu_ = FUNCTIONS["relu_"]
sigmoid = FUNCTIONS["sigmoid"]
tanh = FUNCTIONS["tanh"]
tanh_ = FUNCTIONS["tanh_"]

__all__ = ["relu", "relu_", "sigmoid", "tanh", "tanh_"]
