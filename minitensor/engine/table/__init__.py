"""The derivative table: one row for each operation whose functions the engine generates.

A row defines how an operation is computed and, for each input, how the gradient ``g`` of the result becomes the
gradient of that input. *Backward needs the values that a rule names*: an input, the result ``out``, the input's
``shape``, or a plain argument. These names determine which values are saved, which are copied first if the operation
works in place, and which later writes make a saved value stale. Nothing else determines this.

    sin        x: g * cos(x)                needs its input: in place, that input is copied first
    exp        x: g * out                   needs its result: free in place
    add        x: g    y: g                 needs nothing
    multiply   x: g * y    y: g * x         needs x only if y requires a gradient
    clip       x: where(passed, g, 0)       needs one bit per element: in place, the bits are saved, not its input

Rules ignore broadcasting: the engine sums a rule's result over the broadcast dimensions, so that it has the
shape of the input. A function in a rule is an operation of the table, or a helper of
:mod:`minitensor.engine.operations.rules`.
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

__all__ = ["ROWS", "Row", "op"]
