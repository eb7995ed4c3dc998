"""The values that the derivative of an operation may need when backward runs.

The reference itself finds these values for each operation, to judge whether a refusal of the engine is justified. An
engine may save fewer values. Operands are numbered from 0; ``OUT`` is the result.
"""

from __future__ import annotations

OUT = -1

_FROM_INPUT = {"sin", "cos", "log", "square", "abs", "clip"}
_FROM_OUTPUT = {"exp", "sqrt", "rsqrt", "reciprocal", "tanh", "sigmoid", "relu"}
_FROM_EITHER = {"max", "min", "prod"}

# Under policy "2.5", the engine must refuse these operations in place, because their derivative needs the overwritten
# value. It may accept abs, clip, maximum, minimum and divide: a bit per element or the output is enough for them.
NEEDS_OWN_INPUT = {"sin", "cos", "log", "square", "pow", "multiply"}


def needed(name: str, wants: list[bool]) -> set[int]:
    """Return the operands (and ``OUT``) that the derivative of ``name`` may need; ``wants[i]`` is True if operand i
    needs a gradient.
    """
    if not any(wants):
        return set()
    if name in _FROM_INPUT:
        return {0}
    if name in _FROM_OUTPUT:
        return {OUT}
    if name in _FROM_EITHER:
        return {0, OUT}
    if name in ("multiply", "matmul"):
        return {other for other, wanting in ((0, wants[1]), (1, wants[0])) if wanting}
    if name == "divide":
        return {0, 1, OUT} if wants[1] else {1}
    if name == "pow":
        return {0, 1, OUT}
    if name in ("maximum", "minimum"):
        return {0, 1}
    if name == "where":
        return {0}
    return set()
