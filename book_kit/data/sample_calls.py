"""Run in-place operations once with sample arguments, and measure or describe their effects.

The book shows for each operation how much memory it keeps for backward, which attributes it changes, and which policies
refuse it.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import minitensor as mt
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.table import ROWS, Row

#: The side of the square tensors of 1 MiB. It is a power of 2, so masks of 1 or 2 bits per element fill whole bytes.
SIDE = 512


def full(value: float, name: str = "") -> Tensor:
    """Return a tensor of 1 MiB filled with ``value``, in the shape that the operation ``name`` needs."""
    return mt.full(SHAPES.get(name, [SIDE, SIDE]), value)


def _index() -> Tensor:
    return mt.arange(SIDE)


def _mask() -> Tensor:
    return full(0.25) > 0


#: The arguments (without ``x``) of operations that have no row in the derivative table, or whose arguments are not all
#: tensors of the shape of ``x``.
ARGUMENTS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "apply_": lambda: (lambda x: x.scale(2.0),),
    "cast_": lambda: ("float64",),
    "clip_": lambda: (0.0, 1.0),
    "copy_": lambda: (full(0.25),),
    "cumprod_": lambda: (1,),
    "cumsum_": lambda: (1,),
    "embedding_renorm_": lambda: (_index(), 0.5),
    "fill_": lambda: (7.0,),
    "fill_diagonal_": lambda: (7.0,),
    "fill_diagonal_tensor_": lambda: (mt.full([SIDE], 0.25),),
    "geometric_": lambda: (0.5,),
    "index_add_": lambda: (_index(), 0, full(0.25)),
    "index_fill_": lambda: (_index(), 0, 7.0),
    "index_put_": lambda: ((_index(),), full(0.25)),
    "lerp_": lambda: (full(0.25), full(0.5)),
    "masked_fill_": lambda: (_mask(), 7.0),
    "masked_scatter_": lambda: (_mask(), full(0.25)),
    "multigammaln_": lambda: (2,),
    "polygamma_": lambda: (1,),
    "pow_": lambda: (3.0,),
    "put_along_axis_": lambda: (mt.zeros([SIDE, SIDE], dtype="int64"), full(0.25), 0),
    "random_": lambda: (0, 10),
    "renorm_": lambda: (1.0, 0, 2.0),
    "reshape_": lambda: ([SIDE * 2, SIDE // 2],),
    "resize_": lambda: ([SIDE, SIDE // 2],),
    "scale_": lambda: (2.0,),
    "scatter_": lambda: (_index(), full(0.25)),
    "scatter_add_": lambda: (0, mt.zeros([SIDE, SIDE], dtype="int64"), full(0.25)),
    "set_": lambda: (full(0.25),),
    "transpose_": lambda: ([1, 0],),
    "unsqueeze_": lambda: (0,),
    "where_": lambda: (_mask(), full(0.25)),
}
#: The shapes of ``x`` for operations that do not accept a matrix.
SHAPES = {"baddbmm_": [1, SIDE, SIDE], "squeeze_": [1, SIDE, SIDE]}
#: Operations whose second argument is overwritten.
TARGET_IS_SECOND = ("embedding_renorm_", "where_")
#: The beginnings of the names of operations on integers.
INTEGERS = ("bitwise_", "gcd_", "lcm_")


def arguments(name: str) -> tuple[Any, ...]:
    """Return the sample arguments of an operation, without the tensor that it overwrites."""
    row = row_of(name)
    unaliased = name if row is None else row.name + "_"
    if unaliased in ARGUMENTS:
        return ARGUMENTS[unaliased]()
    others = () if row is None else tuple(operand for operand in row.operands if operand != row.target)
    if name.startswith(INTEGERS):
        return tuple(mt.full([SIDE, SIDE], 2, dtype="int64") for _ in others)
    return tuple(full(0.25, name) for _ in others)


def row_of(name: str) -> Row | None:
    """Return the row of the derivative table for the name or alias of an in-place operation; None if it has no row."""
    found = (row for row in ROWS.values() if name[:-1] in (row.name, *row.aliases))
    return next(found, None)


def call(name: str, x: Tensor, given: tuple[Any, ...]) -> Any:
    """Run the operation ``name`` on ``x``: a function of ``mt`` or ``mt.nn.functional``, or otherwise a method."""
    place = next(place for place in (mt, mt.nn.functional, Tensor) if hasattr(place, name))
    if name in TARGET_IS_SECOND:
        return getattr(place, name)(given[0], x, *given[1:])
    return getattr(place, name)(x, *given)


def non_leaf(name: str) -> Tensor:
    """Return a tensor like the result of `full` that requires a gradient and is not a leaf."""
    leaf = full(0.5, name)
    leaf.stop_gradient = False
    return leaf.scale(1.0)


def is_refused(name: str, policy: str) -> bool:
    """True if the policy refuses the operation. Only the overwritten operand requires a gradient."""
    x, given = non_leaf(name), arguments(name)
    try:
        with mt.set_inplace_policy(policy):
            call(name, x, given)
    except ValueError as error:
        if "policy" not in str(error):
            raise
        return True
    return False


def copies_held(name: str, others_want: bool = False) -> Fraction | None:
    """Return how much memory an operation keeps for backward, as a multiple of the bytes of the overwritten tensor.

    Args:
        others_want: True if the other floating-point operands also require a gradient.

    Returns:
        The multiple. None if the operation raises an error. Operations on integers raise one, because the overwritten
        tensor requires a gradient here and therefore has floats.
    """
    given = arguments(name)
    if others_want:
        for each in given:
            if isinstance(each, Tensor) and each.dtype in (mt.float32, mt.float64):
                each.stop_gradient = False
    x = non_leaf(name)
    size = x.nbytes
    before = mt.device.cpu.memory_allocated()
    try:
        result = call(name, x, given)
    except (TypeError, RuntimeError):
        return None
    del result
    return Fraction(mt.device.cpu.memory_allocated() - before, size)


def changes(name: str) -> tuple[str, str, str]:
    """Run an operation and describe what it changes: the version, the storage, and other attributes of the tensor."""
    x = full(0.5, name)
    given = arguments(name)
    if name == "detach_":
        x.stop_gradient = False
        x = x.scale(1.0)
    before, storage, shown = x.inplace_version, x._storage, ("shape", "strides", "dtype", "stop_gradient")
    was = [getattr(x, attribute) for attribute in shown]
    call(name, x, given)
    version = "stays" if x.inplace_version == before else f"{before} → {x.inplace_version}"
    changed = [attribute for attribute, old in zip(shown, was, strict=True) if getattr(x, attribute) != old]
    return version, "the same" if x._storage is storage else "another", ", ".join(changed) or "–"
