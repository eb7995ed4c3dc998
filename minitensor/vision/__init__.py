"""Transform pictures that are tensors, as ``paddle.vision.transforms`` and ``torchvision.transforms`` do.

Most transforms can also work in place.
"""

import importlib

from minitensor.paddle.missing import missing

__all__ = ["transforms"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise missing(__name__, name, __all__)
    return importlib.import_module(f"{__name__}.{name}")
