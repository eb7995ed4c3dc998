"""Distances between a prediction and what it should be, as losses."""

from __future__ import annotations

from typing import Any

from minitensor.core.tensor import Tensor
from minitensor.nn.cross_entropy import REDUCTIONS
from minitensor.nn.recording import floats_of
from minitensor.operations import FUNCTIONS


def _reduced(op: str, distance: str, input: Tensor, label: Tensor, reduction: Any) -> Tensor:
    """``distance`` of the difference, reduced."""
    if reduction not in REDUCTIONS:
        raise ValueError(f"{op}: reduction is 'mean', 'sum' or 'none', not {reduction!r}")
    input, label = floats_of(op, input=input, label=label)  # type: ignore[assignment]  # as many as were given
    if input.shape != label.shape:
        raise ValueError(f"{op}: input and label have one shape; theirs are {input.shape} and {label.shape}")
    losses = FUNCTIONS[distance](FUNCTIONS["subtract"](input, label))
    return losses if reduction == "none" else FUNCTIONS[reduction](losses)


def mse_loss(input: Tensor, label: Tensor, reduction: str = "mean", name: str | None = None) -> Tensor:
    """The squares of ``input - label``, their mean or their sum.

    Raises:
        ValueError: when the shapes differ: a loss that was broadcast is a mistake that is hard to find.
    """
    return _reduced("mse_loss", "square", input, label, reduction)


def l1_loss(input: Tensor, label: Tensor, reduction: str = "mean", name: str | None = None) -> Tensor:
    """The absolute values of ``input - label``, their mean or their sum.

    Raises:
        ValueError: when the shapes differ.
    """
    return _reduced("l1_loss", "abs", input, label, reduction)
