"""Mixed precision: ``auto_cast`` casts operands to 16 bits, and ``GradScaler`` scales the loss so that small gradients
do not round to 0.

``auto_cast`` uses the lists of operations that Paddle uses on a GPU. Unlike in Paddle, ``auto_cast`` and ``GradScaler``
also work on a CPU.
"""

from minitensor.amp.casting import amp_guard, auto_cast, is_bfloat16_supported, is_float16_supported
from minitensor.amp.scaling import GradScaler
from minitensor.paddle.missing import missing

__all__ = ["GradScaler", "amp_guard", "auto_cast", "is_bfloat16_supported", "is_float16_supported"]


def __getattr__(name: str) -> object:
    raise missing(__name__, name, __all__)
