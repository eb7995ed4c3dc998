"""Losses as layers, under Paddle's names."""

from __future__ import annotations

from typing import Any

from minitensor.core.tensor import Tensor
from minitensor.networks import losses
from minitensor.networks.cross_entropy import cross_entropy
from minitensor.nn.layer import Layer


class CrossEntropyLoss(Layer):
    """Of input [rows, classes] and label [rows]: see :func:`~minitensor.nn.functional.cross_entropy`, which tells the
    formula, and other shapes.

    Returns:
        A tensor without dimensions; with ``reduction="none"``, one loss for each row.

    Raises:
        ValueError: for shapes that do not fit, or another ``reduction``, when it is called.
        IndexError: for a label that is no class.
        TypeError: for anything but tensors.
    """

    def __init__(
        self, *, ignore_index: int = -100, reduction: str = "mean", soft_label: bool = False, axis: int = -1
    ) -> None:
        super().__init__()
        self.settings: dict[str, Any] = {
            "ignore_index": ignore_index,
            "reduction": reduction,
            "soft_label": soft_label,
            "axis": axis,
        }

    def forward(self, input: Tensor, label: Tensor) -> Tensor:
        return cross_entropy(input, label, **self.settings)


class MSELoss(Layer):
    """Of input and label, tensors of one shape: see :func:`~minitensor.nn.functional.mse_loss`, which tells the
    formula.

    Returns:
        A tensor without dimensions; with ``reduction="none"``, of the shape of the input.

    Raises:
        ValueError: for shapes that differ, or another ``reduction``, when it is called.
        TypeError: for anything but tensors of floats.
    """

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction

    def forward(self, input: Tensor, label: Tensor) -> Tensor:
        return losses.mse_loss(input, label, self.reduction)


class L1Loss(Layer):
    """Of input and label, tensors of one shape: see :func:`~minitensor.nn.functional.l1_loss`, which tells the formula.

    Returns:
        A tensor without dimensions; with ``reduction="none"``, of the shape of the input.

    Raises:
        ValueError: for shapes that differ, or another ``reduction``, when it is called.
        TypeError: for anything but tensors of floats.
    """

    def __init__(self, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__()
        self.reduction = reduction

    def forward(self, input: Tensor, label: Tensor) -> Tensor:
        return losses.l1_loss(input, label, self.reduction)


class SmoothL1Loss(Layer):
    """Of input and label, tensors of one shape: see :func:`~minitensor.nn.functional.smooth_l1_loss`, which tells the
    formula.

    Returns:
        A tensor without dimensions; with ``reduction="none"``, of the shape of the input.

    Raises:
        ValueError: for shapes that differ, or another ``reduction``, when it is called.
        TypeError: for anything but tensors of floats.
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0, name: str | None = None) -> None:
        super().__init__()
        self.reduction, self.delta = reduction, delta

    def forward(self, input: Tensor, label: Tensor) -> Tensor:
        return losses.smooth_l1_loss(input, label, self.reduction, self.delta)


class BCELoss(Layer):
    """Of input and label, tensors of one shape: see :func:`~minitensor.nn.functional.binary_cross_entropy`, which tells
    the formula.

    Returns:
        A tensor without dimensions; with ``reduction="none"``, of the shape of the input.

    Raises:
        ValueError: for shapes that differ, or another ``reduction``, when it is called.
        TypeError: for anything but tensors of floats.
        ValueError: for an input that is no probability.
    """

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__()
        self.weight, self.reduction = weight, reduction

    def forward(self, input: Tensor, label: Tensor) -> Tensor:
        return losses.binary_cross_entropy(input, label, self.weight, self.reduction)


class BCEWithLogitsLoss(Layer):
    """Of input and label, tensors of one shape: see :func:`~minitensor.nn.functional.binary_cross_entropy_with_logits`,
    which tells the formula.

    Returns:
        A tensor without dimensions; with ``reduction="none"``, of the shape of the input.

    Raises:
        ValueError: for shapes that differ, or another ``reduction``, when it is called.
        TypeError: for anything but tensors of floats.
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.weight, self.reduction, self.pos_weight = weight, reduction, pos_weight

    def forward(self, logit: Tensor, label: Tensor) -> Tensor:
        return losses.binary_cross_entropy_with_logits(logit, label, self.weight, self.reduction, self.pos_weight)


class NLLLoss(Layer):
    """Of log-probabilities [rows, classes] and label [rows]: see :func:`~minitensor.nn.functional.nll_loss`, which
    tells the formula.

    Returns:
        A tensor without dimensions; with ``reduction="none"``, of shape [rows].

    Raises:
        ValueError: for shapes that do not fit, or another ``reduction``, when it is called.
        IndexError: for a label that is no class.
        TypeError: for a label that is no integer.
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.weight, self.ignore_index, self.reduction = weight, ignore_index, reduction

    def forward(self, input: Tensor, label: Tensor) -> Tensor:
        return losses.nll_loss(input, label, self.weight, self.ignore_index, self.reduction)


class KLDivLoss(Layer):
    """Of input and label, tensors of one shape: see :func:`~minitensor.nn.functional.kl_div`, which tells the formula.

    Returns:
        A tensor without dimensions; with ``reduction="none"``, of the shape of the input.

    Raises:
        ValueError: for shapes that differ, or another ``reduction``, when it is called.
        TypeError: for anything but tensors of floats.
    """

    def __init__(self, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__()
        self.reduction, self.log_target = reduction, log_target

    def forward(self, input: Tensor, label: Tensor) -> Tensor:
        return losses.kl_div(input, label, self.reduction, self.log_target)
