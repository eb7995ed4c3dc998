"""Mixed precision: ``auto_cast`` casts operands to 16 bits, and ``GradScaler`` scales the loss so that small gradients
do not round to 0.

``auto_cast`` uses Paddle's lists of operations for a GPU. Paddle switches both off on a CPU; here they work on every
device.
"""

from minitensor.amp.casting import amp_guard, auto_cast, is_bfloat16_supported, is_float16_supported
from minitensor.amp.scaling import GradScaler

__all__ = ["GradScaler", "amp_guard", "auto_cast", "is_bfloat16_supported", "is_float16_supported"]
