"""Mixed precision: ``auto_cast`` casts operands to 16 bits, and ``GradScaler`` scales the loss so that small gradients
do not round to 0.

``auto_cast`` uses Paddle's lists of operations for a GPU. Unlike in Paddle, both also work on a CPU.
"""

from minitensor.amp.casting import amp_guard, auto_cast, is_bfloat16_supported, is_float16_supported
from minitensor.amp.scaling import GradScaler

__all__ = ["GradScaler", "amp_guard", "auto_cast", "is_bfloat16_supported", "is_float16_supported"]
