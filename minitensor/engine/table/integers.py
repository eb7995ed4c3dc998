"""Operations on integers only, which have no gradient."""

from minitensor.engine.kernels import integers as kernels
from minitensor.engine.table.rows import op

op(
    "gcd",
    kernels.gcd,
    "x y",
    "Greatest common divisor of integers, never negative.",
    promote=("x", "y"),
    accepts="integers",
)
op(
    "lcm",
    kernels.lcm,
    "x y",
    "Least common multiple of integers, 0 or above; 0 if x or y is 0.",
    promote=("x", "y"),
    accepts="integers",
)
