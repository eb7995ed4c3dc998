"""Rules for the layout of results: the strides of the new arrays that operations compute.

numpy often gives a result the memory order of its operands: ``np.tanh`` of a transposed array is transposed. In the
engine, the class of the first operand decides: its method ``_layout_of`` returns the rule. The engine's tensors have
Paddle's rule, which is that every result is contiguous. The tensors of PyTorch's vocabulary have a rule for each
operation (:mod:`minitensor.torch.result_strides`). ``facts/layouts.json`` records the layouts of both libraries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

#: ``rule(result, operands)`` returns the array ``result`` in the prescribed layout. It may depend on the operands.
Rule = Callable[[Any, Sequence[Any]], Any]


class Strided:
    """State of the program: whether operations have to check layouts.

    Attributes:
        exist: True once any tensor is not contiguous. Until then, all results are contiguous, and operations test only
            this attribute, because testing the flags of an array takes 5% of the time of a small addition.
        unusual: True once any contiguous tensor has a dimension of length 1 whose stride differs from that of a new
            tensor. Such a stride addresses no element, so only vocabularies that show strides set this attribute.
        overlapping: True once the elements of any tensor share memory. ``regions.locked`` sets it.
    """

    __slots__ = ("exist", "unusual", "overlapping")

    exist: bool
    unusual: bool
    overlapping: bool


strided = Strided()
strided.exist = strided.unusual = strided.overlapping = False


#: For each leaf whose gradient keeps the memory order of the leaf: the dimensions from the outermost to the innermost.
gradient_orders: WeakKeyDictionary[Any, tuple[int, ...]] = WeakKeyDictionary()


def register_layout(array: Any) -> Any:
    """Return ``array``, the array of a new tensor. If it is not contiguous, set ``strided.exist``."""
    if not strided.exist and not array.flags.c_contiguous:
        strided.exist = True
    return array


def contiguous(result: Any, operands: Sequence[Any]) -> Any:
    """Return ``result`` in C order (last index fastest): itself, or a copy."""
    return result if result.flags.c_contiguous else result.copy()


def always_contiguous(op: str) -> Rule:
    """Return the rule of Paddle's vocabulary for any operation."""
    return contiguous


def laid_out(result: Any, op: str, inputs: Sequence[Any]) -> Any:
    """Return ``result``, computed by ``op``, in the layout that the rule of the first of ``inputs`` prescribes."""
    if strided.exist and inputs:
        result = inputs[0]._layout_of(op)(result, [x._array for x in inputs])
    return register_layout(result)
