"""Neural networks under Paddle's names: layers, functions and initializers. Each name is loaded when it is first used.

A layer has parameters and calls operations, which compute the result and save tensors for backward.
"""

import importlib
from functools import cache

from minitensor.nn import functional
from minitensor.paddle.missing import missing as _missing

#: The names that each module defines, without those of the layers in :mod:`minitensor.engine.layers.declared`.
_DEFINED = {
    "attention": ("Embedding", "MultiHeadAttention"),
    "containers": ("LayerList", "Sequential"),
    "layer": ("Layer",),
    "layers": ("Conv2D", "Dropout", "Dropout2D", "Flatten", "Identity", "Linear", "Unflatten"),
    "normalizing": ("BatchNorm1D", "BatchNorm2D", "GroupNorm", "InstanceNorm2D", "LayerNorm"),
    "parameter": ("ParamAttr", "Parameter"),
    "pooling": ("AdaptiveAvgPool2D", "AvgPool2D", "MaxPool2D"),
    "recurrent": ("GRU", "GRUCell", "LSTM", "LSTMCell", "SimpleRNN", "SimpleRNNCell"),
    "synchronized": ("SyncBatchNorm",),
}


@cache
def _modules() -> dict[str, str]:
    """Return the module of each name. The declarations of layers are imported only here, to save memory."""
    from minitensor.engine.layers.declared import PADDLE, names_of

    found = {name: f"{__name__}.{module}" for module, names in _DEFINED.items() for name in names}
    found |= dict.fromkeys(names_of(PADDLE), f"{__name__}.layers")
    return found | dict.fromkeys(
        ("ClipGradByGlobalNorm", "ClipGradByNorm", "ClipGradByValue"), "minitensor.optimizer.clip"
    )


def __getattr__(name: str) -> object:
    if name == "__all__":
        return ["functional", "initializer", "utils", *sorted(_modules())]
    if name in ("initializer", "utils"):
        return importlib.import_module(f"minitensor.nn.{name}")
    if name not in _modules():
        raise _missing(__name__, name, __dir__())
    found = globals()[name] = getattr(importlib.import_module(_modules()[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), "initializer", "utils", *_modules()})
