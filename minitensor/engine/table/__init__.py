"""The derivative table: every differentiable operation, once.

A row says how an operation is computed and, per input, how the gradient ``g`` of the result becomes the gradient of
that input. *The names in a rule are what backward needs*: an input, the result ``out``, the input's ``shape``, or a
plain argument. From these names follow what is saved, what has to be copied first when the operation works in place,
and whether a later write makes the saved value stale. Nothing about safety is written anywhere else.

    sin        x: g * cos(x)                needs its input: in place, that input is copied first
    exp        x: g * out                   needs its result: free in place
    add        x: g    y: g                 needs nothing
    multiply   x: g * y    y: g * x         x is needed only when y wants a gradient
    clip       x: where(passed, g, 0)       needs one bit per element of its input

Broadcasting is not the rules' business: a gradient is summed to the shape of its input after the rule.
The names of functions in a rule are operations of the table, or helpers: see :mod:`minitensor.engine.operations.rules`.

May import: ``kernels``.
"""

from minitensor.engine.table import (
    activations,
    arithmetic,
    choosing,
    comparing,
    constants,
    diagonals,
    functions,
    indexed,
    integers,
    logic,
    masked,
    matrices,
    random,
    reducing,
    rounding,
    scans,
    special,
)
from minitensor.engine.table.rows import ROWS, Row, op

__all__ = [
    *("ROWS", "Row", "op"),
    *("activations", "arithmetic", "choosing", "comparing", "constants", "diagonals"),
    *("functions", "indexed", "integers", "logic", "masked", "matrices"),
    *("random", "reducing", "rounding", "scans", "special"),
]
