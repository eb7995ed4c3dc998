"""Backward from several tensors in one backward pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitensor.engine.autograd.backward_pass import OnArrays, pending_counts, propagate
from minitensor.engine.autograd.gradients import commit, start_of, sum_by_node
from minitensor.engine.core.tensor import Tensor


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool = False,
) -> None:
    """Add the sum of the gradients of all ``tensors`` to the ``grad`` of every leaf that they were computed from.

    A node that several tensors depend on is visited once, so nothing is freed too early.

    Args:
        tensors: the tensors, of any shapes.
        grad_tensors: the initial gradients, one per tensor and of its shape; None for ones.
        retain_graph: True to keep the saved tensors, so that backward can run again.

    Raises:
        ValueError: if the numbers of tensors and gradients differ, or no tensor is given.
        RuntimeError: if a saved tensor was overwritten or freed; no gradient has changed in that case.
    """
    many: list[Any] = list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]
    given: list[Any] = list(grad_tensors) if isinstance(grad_tensors, (list, tuple)) else [grad_tensors] * len(many)
    if not many or len(given) != len(many):
        raise ValueError(
            f"backward: {len(many)} tensors and {len(given)} initial gradients; give equally many, at least 1"
        )
    if not isinstance(grad_tensors, (list, tuple)) and grad_tensors is not None and len(many) > 1:
        raise ValueError(
            f"backward: one initial gradient for {len(many)} tensors; give a list with one (or None) for each"
        )
    roots = sum_by_node(start_of(x, g, "backward") for x, g in zip(many, given, strict=True))
    with OnArrays() as propagation:
        commit(propagate(roots, pending_counts(roots), retain_graph, propagation), propagation)
