"""``torch.nn``: modules, losses and the functions that they are made of."""

from minitensor.torch.missing import missing_in
from minitensor.torch.nn import functional, init
from minitensor.torch.nn.layers import (
    ELU,
    Dropout,
    Flatten,
    Identity,
    LeakyReLU,
    Linear,
    ModuleList,
    ReLU,
    ReLU6,
    Sequential,
    Sigmoid,
    Softmax,
    Tanh,
)
from minitensor.torch.nn.losses import CrossEntropyLoss, L1Loss, MSELoss, NLLLoss, SmoothL1Loss
from minitensor.torch.nn.module import Module
from minitensor.torch.nn.parameter import Parameter

__all__ = [
    *("ELU", "CrossEntropyLoss", "Dropout", "Flatten", "Identity", "L1Loss", "LeakyReLU", "Linear", "MSELoss"),
    *("Module", "ModuleList", "NLLLoss", "Parameter", "ReLU", "ReLU6", "Sequential", "Sigmoid", "SmoothL1Loss"),
    *("Softmax", "Tanh", "functional", "init"),
]

__getattr__ = missing_in("torch.nn", lambda: __all__)
