"""Neural networks under Paddle's names: layers, functions, initializers. Each is loaded when it is first looked up.

A layer is parameters and a call; what it computes, saves and counts is the operations' business.
May import: all that stands below ``nn``.
"""

import importlib

from minitensor.nn import functional
from minitensor.vocabulary.missing import missing

#: Where each name is defined.
_DEFINED = {
    "containers": ("LayerList", "Sequential"),
    "layer": ("Layer",),
    "layers": (
        "BatchNorm1D",
        "BatchNorm2D",
        "Conv2D",
        "CrossEntropyLoss",
        "ELU",
        "Flatten",
        "Hardtanh",
        "L1Loss",
        "LeakyReLU",
        "Linear",
        "MSELoss",
        "ReLU",
        "ReLU6",
        "Sigmoid",
        "Softmax",
        "Tanh",
        "ThresholdedReLU",
    ),
    "parameter": ("ParamAttr", "Parameter"),
}
_MODULES = {name: module for module, names in _DEFINED.items() for name in names}

__all__ = ["functional", "initializer", *sorted(_MODULES)]


def __getattr__(name: str) -> object:
    if name == "initializer":
        return importlib.import_module("minitensor.nn.initializer")
    if name not in _MODULES:
        raise missing(__name__, name, __all__)
    found = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
