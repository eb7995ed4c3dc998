"""``nn.functional``: activations and other operations of the derivative table, and functions that layers call."""

import importlib
from collections.abc import Callable
from typing import Any

from minitensor.engine.operations import FUNCTIONS
from minitensor.engine.operations import found_in as _found_in
from minitensor.paddle.missing import missing

#: For each module, the names of its functions. They are not operations of the derivative table.
_DEFINED = {
    "minitensor.engine.layers.activations": (
        *("cosine_similarity", "dropout", "dropout2d", "gelu", "hardsigmoid", "hardswish", "log_softmax", "mish"),
        *("normalize", "selu", "silu", "softplus", "softsign", "swish"),
    ),
    "minitensor.engine.layers.attention": ("embedding",),
    "minitensor.engine.layers.convolution": ("conv2d",),
    "minitensor.engine.layers.cross_entropy": ("cross_entropy", "softmax_with_cross_entropy"),
    "minitensor.engine.layers.linear": ("linear",),
    "minitensor.engine.layers.losses": (
        *("binary_cross_entropy", "binary_cross_entropy_with_logits", "kl_div", "l1_loss", "mse_loss", "nll_loss"),
        "smooth_l1_loss",
    ),
    "minitensor.engine.layers.normalization": ("batch_norm", "group_norm", "instance_norm", "layer_norm"),
    "minitensor.engine.layers.pooling": ("adaptive_avg_pool2d", "avg_pool2d", "max_pool2d"),
    "minitensor.engine.layers.image_patches": ("fold", "unfold"),
    "minitensor.paddle.counting": ("one_hot",),
    "minitensor.nn.attention": ("scaled_dot_product_attention",),
}
_MODULES = {name: module for module, names in _DEFINED.items() for name in names}

__all__ = sorted([*_found_in("F"), *_MODULES])


def __getattr__(name: str) -> Callable[..., Any]:
    """Compile or load the function ``name`` on first use, and return it."""
    if name not in __all__:
        raise missing(__name__, name, __all__)
    function = getattr(importlib.import_module(_MODULES[name]), name) if name in _MODULES else FUNCTIONS[name]
    globals()[name] = function
    return function


def __dir__() -> list[str]:
    return __all__
