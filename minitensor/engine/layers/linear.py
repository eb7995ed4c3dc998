"""The linear layer: ``x @ weight + bias`` as one operation, which allocates no array for the product alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minitensor.engine.core.history import Node
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.kernels.reducing import total
from minitensor.engine.layers.custom_operation import computed, floats_of, operation, recorded, wanted_gradients
from minitensor.engine.operations import FUNCTIONS
from minitensor.engine.operations.arguments import need_tensor


def _on_arrays(node: Node, g: np.ndarray, x: Any, weight: Any) -> Any:
    to_x, to_weight, to_bias = node.inputs
    rows = _rows(g)
    gx = gw = None
    if to_x is not None:
        gx = np.matmul(rows, weight.T)
        gx = gx if gx.shape == to_x.shape else gx.reshape(to_x.shape)
    if to_weight is not None:
        gw = np.matmul(_rows(x).T, rows)
    return gx, gw, None if to_bias is None else total(rows, 0, False)


def _rows(x: np.ndarray) -> np.ndarray:
    """Return ``x`` as a matrix: ``x`` itself if it is one."""
    return x if x.ndim == 2 else x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


def _on_tensors(node: Node, g: Tensor, x: Any, weight: Any) -> Any:
    matmul, total_of = FUNCTIONS["matmul"], FUNCTIONS["sum"]
    rows = g.reshape([-1, g.shape[-1]])
    return wanted_gradients(
        node,
        (
            lambda: matmul(g, weight, False, True),
            lambda: matmul(x.reshape([-1, x.shape[-1]]), rows, True, False),
            lambda: total_of(rows, 0),
        ),
    )


LINEAR = operation("linear", ("x", "weight"), _on_arrays, _on_tensors)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None, name: str | None = None) -> Tensor:
    """Return ``x @ weight + bias``, of shape [..., out].

    Backward needs ``x`` for the gradient of ``weight``, and ``weight`` for the gradient of ``x``. Each is saved by
    reference, and only if the gradient that needs it is required.

    Args:
        x: shape [..., in].
        weight: shape [in, out], as in Paddle; PyTorch uses [out, in].
        bias: shape [out].

    Raises:
        ValueError: if the shapes do not fit.
        TypeError: unless all are tensors of floats on one device.
    """
    need_tensor("linear", weight, "weight")
    x, weight, bias = floats_of("linear", x=x, weight=weight, bias=bias)
    a, b = x._array, weight._array
    if a.ndim < 1 or b.ndim != 2 or a.shape[-1] != b.shape[0]:
        raise ValueError(
            f"linear: weight must be [in, out] and x [..., in], but the shapes are {weight.shape} and {x.shape}"
        )
    if bias is not None and bias._array.shape != b.shape[1:]:
        raise ValueError(
            f"linear: bias must have the shape [{b.shape[1]}] for a weight of shape {weight.shape}, not {bias.shape}"
        )
    return recorded(computed(_product, a, b, bias), LINEAR, (x, weight, bias), ((1,), (0,)))


def _product(a: np.ndarray, b: np.ndarray, bias: Tensor | None) -> np.ndarray:
    out = np.matmul(_rows(a), b)
    if bias is not None:
        np.add(out, bias._array, out)
    return out if a.ndim == 2 else out.reshape((*a.shape[:-1], b.shape[1]))
