"""Transform pictures given as tensors, like ``paddle.vision.transforms`` and ``torchvision.transforms``, also in place.

The package downloads nothing and has no pretrained models.
"""

import importlib

from minitensor.paddle.missing import missing

__all__ = ["transforms"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise missing(__name__, name, __all__)
    return importlib.import_module(f"{__name__}.{name}")
