"""Losses as modules."""

from __future__ import annotations

from minitensor.torch.nn import functional as F
from minitensor.torch.nn.module import Module
from minitensor.torch.tensor import Tensor


class _Loss(Module):
    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction


class MSELoss(_Loss):
    """The mean square difference, of input and target of one shape: see ``functional.mse_loss``.

    Returns:
        A tensor without dimensions; with ``reduction="none"``, of the shape of the input.

    Raises:
        RuntimeError: for shapes that cannot be broadcast.
        ValueError: for another ``reduction``, when it is called.
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.mse_loss(input, target, self.reduction)


class L1Loss(_Loss):
    """The mean absolute difference, of input and target of one shape: see ``functional.l1_loss``.

    Returns:
        A tensor without dimensions; with ``reduction="none"``, of the shape of the input.

    Raises:
        RuntimeError: for shapes that cannot be broadcast.
        ValueError: for another ``reduction``, when it is called.
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.l1_loss(input, target, self.reduction)


class SmoothL1Loss(_Loss):
    """Half the square of small differences, the size of large ones, of input and target of one shape: see
    ``functional.smooth_l1_loss``.

    Returns:
        A tensor without dimensions; with ``reduction="none"``, of the shape of the input.

    Raises:
        RuntimeError: for shapes that cannot be broadcast.
        ValueError: for another ``reduction``, when it is called.
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.smooth_l1_loss(input, target, self.reduction)


class BCELoss(_Loss):
    """Of input and target, tensors of one shape: see ``functional.binary_cross_entropy``, which tells the formula.

    Returns:
        A tensor without dimensions; with ``reduction="none"``, of the shape of the input.

    Raises:
        ValueError: for shapes that differ, or another ``reduction``, when it is called.
        RuntimeError: for an input that is no probability.
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: None = None,
        reduce: None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)
        self.register_buffer("weight", weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """Of input and target, tensors of one shape: see ``functional.binary_cross_entropy_with_logits``, which tells the
    formula.

    Returns:
        A tensor without dimensions; with ``reduction="none"``, of the shape of the input.

    Raises:
        ValueError: for shapes that differ, or another ``reduction``, when it is called.
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: None = None,
        reduce: None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, reduction=self.reduction, pos_weight=self.pos_weight
        )


class KLDivLoss(_Loss):
    """Of input and target, tensors of one shape: see ``functional.kl_div``, which tells the formula.

    Returns:
        A tensor without dimensions; with ``reduction="none"``, of the shape of the input.

    Raises:
        ValueError: for shapes that differ, or another ``reduction``, when it is called.
    """

    def __init__(
        self, size_average: None = None, reduce: None = None, reduction: str = "mean", log_target: bool = False
    ) -> None:
        super().__init__(reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class NLLLoss(_Loss):
    """Minus the log-probability of each target class: input [rows, classes], target [rows]; see
    ``functional.nll_loss``.

    Returns:
        A tensor without dimensions; with ``reduction="none"``, of the shape of the target.

    Raises:
        ValueError: for another number of targets than of examples, or another ``reduction``, when it is called.
        IndexError: for a target that is no class.
        RuntimeError: for a target that is not int64, or other shapes.
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: None = None,
        ignore_index: int = -100,
        reduce: None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)
        self.register_buffer("weight", weight)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.nll_loss(input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class CrossEntropyLoss(_Loss):
    """Minus the log-probability that softmax gives each target class: input [rows, classes], target [rows]; see
    ``functional.cross_entropy``, and other shapes.

    Returns:
        A tensor without dimensions; with ``reduction="none"``, one loss for each example.

    Raises:
        ValueError: for another number of targets than of examples, or another ``reduction``, when it is called.
        IndexError: for a target that is no class.
        RuntimeError: for a target that is not int64, or other shapes.
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: None = None,
        ignore_index: int = -100,
        reduce: None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(reduction)
        self.register_buffer("weight", weight)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.cross_entropy(
            input,
            target,
            self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )
