"""Neural networks under Paddle's names: layers, functions and initializers. Each name is loaded when it is first used.

A layer has parameters and calls operations, which compute the result and save tensors for backward.
"""

import importlib

from minitensor.engine.layers.declared import PADDLE as _PADDLE
from minitensor.engine.layers.declared import names_of as _names_of
from minitensor.nn import functional
from minitensor.paddle.missing import missing as _missing

#: The names that each module defines.
_DEFINED = {
    "attention": ("Embedding", "MultiHeadAttention"),
    "containers": ("LayerList", "Sequential"),
    "layer": ("Layer",),
    "layers": ("Conv2D", "Dropout", "Flatten", "Linear", *_names_of(_PADDLE)),
    "normalizing": ("BatchNorm1D", "BatchNorm2D", "GroupNorm", "InstanceNorm2D", "LayerNorm"),
    "parameter": ("ParamAttr", "Parameter"),
    "pooling": ("AdaptiveAvgPool2D", "AvgPool2D", "MaxPool2D"),
    "recurrent": ("GRU", "GRUCell", "LSTM", "LSTMCell", "SimpleRNN", "SimpleRNNCell"),
    "synchronized": ("SyncBatchNorm",),
}
_MODULES = {name: f"{__name__}.{module}" for module, names in _DEFINED.items() for name in names}
_MODULES |= dict.fromkeys(("ClipGradByGlobalNorm", "ClipGradByNorm", "ClipGradByValue"), "minitensor.optimizer.clip")

__all__ = ["functional", "initializer", "utils", *sorted(_MODULES)]


def __getattr__(name: str) -> object:
    if name in ("initializer", "utils"):
        return importlib.import_module(f"minitensor.nn.{name}")
    if name not in _MODULES:
        raise _missing(__name__, name, __all__)
    found = globals()[name] = getattr(importlib.import_module(_MODULES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
