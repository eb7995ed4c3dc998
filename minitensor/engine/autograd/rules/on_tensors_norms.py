"""Helper of the gradient rule of ``renorm`` on tensors."""

from __future__ import annotations

import numpy as np

from minitensor.engine.autograd.rules.on_tensors import OPERATIONS
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.kernels.indexed import from_front
from minitensor.engine.kernels.matrices import slice_norms

_where, _abs, _sum, _pow = (OPERATIONS[name] for name in ("where", "abs", "sum", "pow"))


def renorm_gradient(g: Tensor, x: Tensor, p: float, axis: int, max_norm: float) -> Tensor:
    """Return the gradient of ``x``: ``g`` in unchanged slices, and in others the gradient of ``x * max_norm / norm``.

    Where ``x`` is 0 or its slice was not changed, ``x`` is replaced by a harmless number, so that no slope is infinite.
    """
    axis = from_front(axis, x.ndim)
    others = [d for d in range(x.ndim) if d != axis]
    above = np.broadcast_to(slice_norms(x._array, p, axis) > max_norm, x._array.shape)
    moved, zero = Tensor._made(above.copy()), Tensor._made(above & (x._array == 0))
    sign = Tensor._made(np.sign(x._array))
    inner = _where(moved, x, 1.0)
    size = _where(zero, 1.0, _abs(inner))
    powers = inner * inner if p == 2 else _where(zero, 0.0, _pow(size, p))
    norms = _sum(powers, others, True) ** (1 / p) if others else size
    # For p = 2 the slope is smooth at 0, where its own derivative is 1 / norm.
    slope = inner / norms if p == 2 else _where(zero, 0.0, sign * _pow(size / norms, p - 1))
    along = _sum(g * inner, others, True) / norms if others else g * inner / norms
    return _where(moved, (g - along * slope) * (max_norm / norms), g)
