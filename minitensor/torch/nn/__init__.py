"""``torch.nn``: modules, losses, and the functions that they call.

Modules compute with the functions of :mod:`minitensor.engine.layers`. Their parameters start with the same random
numbers as PyTorch's.
"""

from minitensor.torch.errors import missing_in
from minitensor.torch.nn import functional, init, utils
from minitensor.torch.nn.images import (
    AdaptiveAvgPool2d,
    AvgPool2d,
    BatchNorm1d,
    BatchNorm2d,
    Conv2d,
    GroupNorm,
    InstanceNorm2d,
    LayerNorm,
    MaxPool2d,
)
from minitensor.torch.nn.layers import DECLARED as _DECLARED
from minitensor.torch.nn.layers import Dropout, Dropout2d, Flatten, Identity, Linear, Unflatten
from minitensor.torch.nn.lists_and_dicts import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from minitensor.torch.nn.module import Module
from minitensor.torch.nn.parameter import Parameter
from minitensor.torch.nn.recurrences import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell
from minitensor.torch.nn.sequences import Embedding, MultiheadAttention

globals().update(_DECLARED)

__all__ = [
    *("AdaptiveAvgPool2d", "AvgPool2d", "BatchNorm1d", "BatchNorm2d", "Conv2d", "Dropout", "Dropout2d", "Embedding"),
    *("Flatten", "GRU", "GRUCell", "GroupNorm", "Identity", "InstanceNorm2d", "LSTM", "LSTMCell", "LayerNorm"),
    *("Linear", "MaxPool2d", "Module", "ModuleDict", "ModuleList", "MultiheadAttention", "Parameter", "ParameterDict"),
    *("ParameterList", "RNN", "RNNCell", "Sequential", "Unflatten", "functional", "init", "utils", *_DECLARED),
]

__getattr__ = missing_in("torch.nn", lambda: __all__)
