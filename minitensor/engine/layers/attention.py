"""Attention, and the lookup of embedding vectors."""

from __future__ import annotations

import math
from typing import Any

from minitensor.engine import checks
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.creation.making import arange, full
from minitensor.engine.dtypes import INDICES
from minitensor.engine.layers.activations import dropout
from minitensor.engine.layers.custom_operation import floats_of
from minitensor.engine.operations import FUNCTIONS
from minitensor.engine.operations.arguments import need_tensor


def embedding(x: Tensor, weight: Tensor, padding_idx: int | None = None, name: str | None = None) -> Tensor:
    """Return the row of ``weight`` for each index in ``x``. The gradient of a row is the sum over all its uses.

    Args:
        x: integers, of any shape.
        weight: shape [rows, length].
        padding_idx: the index of a row that receives no gradient.

    Raises:
        TypeError: if ``x`` does not hold integers.
        ValueError: if ``weight`` does not have two dimensions.
        IndexError: if an element of ``x``, or ``padding_idx``, is not the index of a row.
    """
    need_tensor("embedding", x)
    need_tensor("embedding", weight, "weight")
    if weight.ndim != 2:
        raise ValueError(f"embedding: weight must be [rows, length], but its shape is {weight.shape}")
    if x._array.dtype not in INDICES:
        raise TypeError(f"embedding: x must hold integers (int32 or int64), not {x.dtype.name}")
    rows = weight
    if padding_idx is not None:
        row = checks.integer("embedding", "padding_idx", padding_idx)
        if not -weight.shape[0] <= row < weight.shape[0]:
            raise IndexError(f"embedding: padding_idx {row} is not a row; the number of rows is {weight.shape[0]}")
        padding_idx = row % weight.shape[0]
        numbers: Any = arange(weight.shape[0])
        rows = FUNCTIONS["where"]((numbers == padding_idx).unsqueeze(1), weight.detach(), weight)
    return FUNCTIONS["index_select"](rows, x.reshape([-1]), 0).reshape([*x.shape, weight.shape[1]])


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    training: bool = True,
) -> Tensor:
    """Return ``softmax(query @ key.T / sqrt(length)) @ value`` over the last two dimensions (Vaswani et al. 2017).

    Args:
        query: shape [..., queries, length].
        key: shape [..., keys, length].
        value: shape [..., keys, size]; ``size`` may differ from ``length``.
        mask: bools that are True for the keys that a query may use, or floats that are added to the scores.
        dropout_p: the probability with which each weight is set to 0 in training.
        is_causal: True if query i uses only the keys from 0 to i.
        training: False to drop no weights.

    Raises:
        ValueError: if the shapes do not fit, or if both a mask and ``is_causal`` are given.
        TypeError: if query, key or value is not a tensor of floats, or the mask is not a tensor.
    """
    is_causal = checks.flag("attention", "is_causal", is_causal)
    if mask is not None:
        need_tensor("attention", mask, "mask")
    query, key, value = floats_of("attention", query=query, key=key, value=value)
    if (
        min(query.ndim, key.ndim, value.ndim) < 2
        or query.shape[-1] != key.shape[-1]
        or key.shape[-2] != value.shape[-2]
    ):
        raise ValueError(f"attention: query [..., n, d], key [..., m, d] and value [..., m, e] do not fit; their "
                         f"shapes are {query.shape}, {key.shape} and {value.shape}")  # fmt: skip
    if mask is not None and is_causal:
        raise ValueError("attention: give a mask or is_causal=True, not both")
    scores = FUNCTIONS["matmul"](query, key, False, True) * (1 / math.sqrt(query.shape[-1]))
    if is_causal:
        mask = FUNCTIONS["tril"](full([query.shape[-2], key.shape[-2]], 1.0)) > 0.0
    if mask is not None:
        is_truth = mask._array.dtype.kind == "b"
        scores = FUNCTIONS["where"](mask, scores, scores * 0.0 - math.inf) if is_truth else scores + mask
    weights = FUNCTIONS["softmax"](scores, -1)
    return FUNCTIONS["matmul"](dropout(weights, dropout_p, training), value)
