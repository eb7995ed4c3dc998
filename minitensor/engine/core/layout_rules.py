"""Rules for the layout of results: the strides of the new arrays that operations compute.

numpy often gives a result the order of its operands: ``np.tanh`` of a transposed array is transposed. Here, the kind of
the first operand decides, with ``_layout_of`` of its class. The engine's tensors have Paddle's rule, which is that
every result is contiguous; PyTorch's have a rule for each operation (:mod:`minitensor.torch.result_strides`).
Generated and hand-written operations apply these rules. ``facts/layouts.json`` has the layouts of the libraries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

#: Returns a computed array in its layout, which may depend on the arrays of the operands.
Rule = Callable[[Any, Sequence[Any]], Any]


class Strided:
    """The state of a program that determines if its operations have to check layouts.

    Attributes:
        exist: True as soon as any tensor is not contiguous. Until then, the results of all operations are contiguous,
            and operations test nothing else: to test the flags of an array takes 5% of the time of a small addition.
    """

    __slots__ = ("exist",)

    exist: bool


strided = Strided()
strided.exist = False


#: The dimensions of a leaf from the outermost to the innermost in memory, if its gradient has them in the same order.
gradient_orders: WeakKeyDictionary[Any, tuple[int, ...]] = WeakKeyDictionary()


def noted(array: Any) -> Any:
    """Return ``array``, which a tensor is about to show; if it is not contiguous, note that there are such tensors."""
    if not strided.exist and not array.flags.c_contiguous:
        strided.exist = True
    return array


def contiguous(result: Any, operands: Sequence[Any]) -> Any:
    """Return ``result`` with the last index fastest in memory: itself, or a copy."""
    return result if result.flags.c_contiguous else result.copy()


def always_contiguous(op: str) -> Rule:
    """Return the rule of Paddle's vocabulary for any operation."""
    return contiguous


def laid_out(result: Any, op: str, inputs: Sequence[Any]) -> Any:
    """Return the computed array ``result`` of ``op`` in the layout that the first of the tensors ``inputs`` decides."""
    if strided.exist and inputs:
        result = inputs[0]._layout_of(op)(result, [x._array for x in inputs])
    return noted(result)
