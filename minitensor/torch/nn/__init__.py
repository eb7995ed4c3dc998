"""``torch.nn``: modules, losses and the functions that they are made of.

What a layer computes is that of :mod:`minitensor.networks`; how its parameters begin is PyTorch's, number for number.
May import: all that stands below ``torch``, its tensors, and ``torch.autograd``.
"""

from minitensor.torch.errors import missing_in
from minitensor.torch.nn import functional, init, utils
from minitensor.torch.nn.activations import (
    ELU,
    GELU,
    Hardtanh,
    LeakyReLU,
    LogSoftmax,
    ReLU,
    ReLU6,
    Sigmoid,
    SiLU,
    Softmax,
    Tanh,
)
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
from minitensor.torch.nn.layers import (
    Dropout,
    Flatten,
    Identity,
    Linear,
    ModuleList,
    Sequential,
)
from minitensor.torch.nn.losses import (
    BCELoss,
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    KLDivLoss,
    L1Loss,
    MSELoss,
    NLLLoss,
    SmoothL1Loss,
)
from minitensor.torch.nn.module import Module
from minitensor.torch.nn.parameter import Parameter
from minitensor.torch.nn.recurrences import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell
from minitensor.torch.nn.sequences import Embedding, MultiheadAttention

__all__ = [
    *("ELU", "GELU", "GRU", "LSTM", "RNN", "AdaptiveAvgPool2d", "AvgPool2d", "BCELoss", "BCEWithLogitsLoss", "GRUCell"),
    "BatchNorm1d",
    *("BatchNorm2d", "Conv2d", "CrossEntropyLoss", "Dropout", "Embedding", "Flatten", "GroupNorm", "Hardtanh"),
    *("Identity", "InstanceNorm2d", "KLDivLoss", "L1Loss", "LSTMCell", "LayerNorm", "LeakyReLU", "Linear"),
    *("LogSoftmax", "MSELoss", "MaxPool2d", "Module", "ModuleList", "MultiheadAttention", "NLLLoss", "Parameter"),
    *("RNNCell", "ReLU", "ReLU6", "Sequential", "SiLU", "Sigmoid", "SmoothL1Loss", "Softmax", "Tanh"),
    *("functional", "init", "utils"),
]

__getattr__ = missing_in("torch.nn", lambda: __all__)
