"""Loss functions of a prediction and its label.

They raise TypeError unless both are tensors of floats on one device. Only the labels of ``nll_loss`` are integers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.core.history import Node
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.device.arrays import host_array, like
from minitensor.engine.dtypes import INDICES
from minitensor.engine.kernels.sixteen_bits import wide
from minitensor.engine.layers.cross_entropy import REDUCTIONS, unknown_reduction
from minitensor.engine.layers.custom_operation import floats_of, operation, recorded, wanted_gradients
from minitensor.engine.operations import FUNCTIONS
from minitensor.engine.operations.arguments import need_tensor


def _floats_of_one_shape(op: str, **given: Tensor | None) -> tuple[Any, ...]:
    """Return the tensors of a loss in one floating dtype; raise ValueError unless the first two have one shape."""
    floats = floats_of(op, **given)
    first, second = floats[:2]
    if first._array.shape != second._array.shape:
        names = " and ".join(list(given)[:2])
        raise ValueError(f"{op}: {names} must have one shape, but theirs are {first.shape} and {second.shape}")
    return floats


def _loss_of_difference(op: str, distance: str, input: Tensor, label: Tensor, reduction: Any) -> Tensor:
    """Return the operation ``distance`` of ``input - label``, or its mean or sum."""
    _check_reduction(op, reduction)
    input, label = _floats_of_one_shape(op, input=input, label=label)
    return _reduce(FUNCTIONS[distance](FUNCTIONS["subtract"](input, label)), reduction)


def mse_loss(input: Tensor, label: Tensor, reduction: str = "mean", name: str | None = None) -> Tensor:
    """Return the squares of ``input - label``, reduced to their mean or sum, or unreduced (``"none"``).

    Raises:
        ValueError: if ``reduction`` is unknown, or if the shapes differ, because a loss that is broadcast by accident
            is hard to notice.
    """
    return _loss_of_difference("mse_loss", "square", input, label, reduction)


def l1_loss(input: Tensor, label: Tensor, reduction: str = "mean", name: str | None = None) -> Tensor:
    """Return the absolute values of ``input - label``, reduced to their mean or sum, or unreduced (``"none"``).

    Raises:
        ValueError: if ``reduction`` is unknown, or if the shapes differ.
    """
    return _loss_of_difference("l1_loss", "abs", input, label, reduction)


def binary_cross_entropy_with_logits(
    logit: Tensor,
    label: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the negative log-probability of ``label`` (from 0 to 1), if ``sigmoid(logit)`` is the probability of 1.

    It is computed as ``(1 - y) * x - log_sigmoid(x)``, which does not overflow. The gradient for x is
    ``sigmoid(x) - y``.

    Args:
        weight: a factor for each loss.
        pos_weight: a factor for positive labels.

    Raises:
        ValueError: if the shapes differ, or if ``reduction`` is unknown.
    """
    op = "binary_cross_entropy_with_logits"
    given = {"logit": logit, "label": label, "weight": weight, "pos_weight": pos_weight}
    x, y, weight, pos_weight = _floats_of_one_shape(op, **given)
    logarithm = FUNCTIONS["log_sigmoid"](x)
    if pos_weight is not None:
        logarithm = logarithm * (1.0 + (pos_weight - 1.0) * y)
    losses = (1.0 - y) * x - logarithm
    _check_reduction(op, reduction)
    return _reduce(losses if weight is None else losses * weight, reduction)


def _bce_on_arrays(node: Node, g: Any, x: Any, label: Any) -> Any:
    spread = np.maximum(x * (1 - x), 1e-12)  # PyTorch and Paddle use the same bound
    return wanted_gradients(
        node, (lambda: g * (x - label) / spread, lambda: g * (_bounded_log(1 - x) - _bounded_log(x)))
    )


def _bce_on_tensors(node: Node, g: Any, x: Any, label: Any) -> Any:
    log, bounded = FUNCTIONS["log"], FUNCTIONS["clip"]
    spread = bounded(x * (1.0 - x), 1e-12)
    return wanted_gradients(
        node, (lambda: g * (x - label) / spread, lambda: g * (bounded(log(1.0 - x), -100.0) - bounded(log(x), -100.0)))
    )


def _bounded_log(x: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.maximum(np.log(x), -100)


BINARY_CROSS_ENTROPY = operation("binary_cross_entropy", ("input", "label"), _bce_on_arrays, _bce_on_tensors)


def binary_cross_entropy(
    input: Tensor, label: Tensor, weight: Tensor | None = None, reduction: str = "mean", name: str | None = None
) -> Tensor:
    """Return the negative log-probability of ``label`` (from 0 to 1), if ``input`` is the probability of 1.

    Logarithms are at least -100, so a certain and wrong prediction has a large loss instead of an infinite one.

    Args:
        weight: a factor for each loss.

    Raises:
        ValueError: if the shapes differ, ``reduction`` is unknown, or an input is not a probability.
    """
    op = "binary_cross_entropy"
    input, label, weight = _floats_of_one_shape(op, input=input, label=label, weight=weight)
    x, y = input._array, label._array
    if x.size and not (x.min() >= 0 and x.max() <= 1):
        raise ValueError(
            f"{op}: all elements of input should be between 0 and 1; they go from {float(x.min()):g} to "
            f"{float(x.max()):g}. For scores, use binary_cross_entropy_with_logits."
        )
    x, y = wide(x), wide(y)
    out = -(y * _bounded_log(x) + (1 - y) * _bounded_log(1 - x))
    losses = recorded(out, BINARY_CROSS_ENTROPY, (input, label), ((0, 1), (0, 1)))
    _check_reduction(op, reduction)
    return _reduce(losses if weight is None else losses * weight, reduction)


def smooth_l1_loss(
    input: Tensor, label: Tensor, reduction: str = "mean", delta: float = 1.0, name: str | None = None
) -> Tensor:
    """Return Huber's loss (1964): quadratic for differences below ``delta``, linear for others.

    For a difference of size d, the loss is ``d * d / 2`` if d is below ``delta``, and ``delta * d - delta**2 / 2``
    otherwise, as in Paddle. PyTorch divides this loss by ``delta``.

    Raises:
        ValueError: if the shapes differ, or if ``reduction`` is unknown.
    """
    op = "smooth_l1_loss"
    delta = checks.real(op, "delta", delta)
    _check_reduction(op, reduction)
    input, label = _floats_of_one_shape(op, input=input, label=label)
    distance = FUNCTIONS["subtract"](input, label)
    # The loss is computed as a product with the clipped distance, so that its slope is right for a distance of inf.
    near = FUNCTIONS["clip"](distance, -delta, delta)
    return _reduce(near * (distance - 0.5 * near), reduction)


def nll_loss(
    input: Tensor,
    label: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """Return the negative log-probability of each row's class.

    Args:
        input: log-probabilities, of shape [rows, classes].
        label: the class of each row (integers), of shape [rows].
        weight: a weight for each class. With ``"mean"``, the sum is divided by the sum of the weights.
        ignore_index: the class of rows that the loss ignores.

    Raises:
        ValueError: if the shapes do not fit, or if ``reduction`` is unknown.
        IndexError: if a label is not a class.
        TypeError: if ``input`` does not hold floats, or ``label`` does not hold integers.
    """
    ignore_index = checks.integer("nll_loss", "ignore_index", ignore_index)
    _check_reduction("nll_loss", reduction)
    need_tensor("nll_loss", label, "label")
    input, weight = floats_of("nll_loss", input=input, weight=weight)
    if input.ndim != 2 or label.shape != input.shape[:1]:
        raise ValueError(
            f"nll_loss: input must be [rows, classes] and label [rows], but their shapes are {input.shape} and "
            f"{label.shape}"
        )
    if weight is not None and list(weight.shape) != list(input.shape[1:]):
        raise ValueError(
            f"nll_loss: weight must have one number for each of the {input.shape[1]} classes, not the shape "
            f"{weight.shape}"
        )
    if label._array.dtype not in INDICES:
        raise TypeError(f"nll_loss: labels must be classes (int32 or int64), not {label.dtype.name}")
    classes_given = host_array(label._array)
    counts = classes_given != ignore_index
    wrong = classes_given[counts & ((classes_given < 0) | (classes_given >= input.shape[1]))]
    if wrong.size:
        raise IndexError(f"nll_loss: label {int(wrong[0])} is not a class; classes are from 0 to {input.shape[1] - 1}")
    classes = FUNCTIONS["where"](Tensor._made(like(counts, input._array)), label, FUNCTIONS["multiply"](label, 0))
    share = Tensor._made(like(counts.astype(input._array.dtype), input._array))
    if weight is not None:
        share = share * FUNCTIONS["index_select"](weight, classes, 0)
    right = FUNCTIONS["take_along_axis"](input, classes.unsqueeze(1), 1).squeeze(1)
    losses = FUNCTIONS["where"](Tensor._made(like(counts, input._array)), -right * share, 0.0)
    if reduction == "mean":
        return FUNCTIONS["sum"](losses) / FUNCTIONS["sum"](share)
    return _reduce(losses, reduction)


def kl_div(
    input: Tensor, label: Tensor, reduction: str = "mean", log_target: bool = False, name: str | None = None
) -> Tensor:
    """Return ``label * (log(label) - input)``, the divergence of two distributions (Kullback and Leibler 1951).

    ``label`` holds probabilities, and ``input`` logarithms of probabilities.

    Args:
        reduction: ``"mean"``, ``"sum"``, ``"none"``, or ``"batchmean"``. The last one, the sum divided by the number of
            rows, agrees with the mathematical definition.
        log_target: True if ``label`` holds logarithms of probabilities, as ``input`` does.

    Raises:
        ValueError: if the shapes differ, or if ``reduction`` is unknown.
    """
    log_target = checks.flag("kl_div", "log_target", log_target)
    x, y = _floats_of_one_shape("kl_div", input=input, label=label)
    if log_target:
        losses = FUNCTIONS["exp"](y) * (y - x)
    else:
        positive = FUNCTIONS["logical_not"](y <= 0)  # true where `y` is nan, so that the loss there is nan
        likely = FUNCTIONS["where"](positive, y, 1.0)
        losses = FUNCTIONS["where"](positive, y * (FUNCTIONS["log"](likely) - x), 0.0)
    if isinstance(reduction, str) and reduction == "batchmean":
        if x.ndim == 0:
            raise ValueError("kl_div: reduction='batchmean' divides by the number of rows, and input has no dimension")
        return FUNCTIONS["sum"](losses) / x.shape[0]
    _check_reduction("kl_div", reduction)
    return _reduce(losses, reduction)


def _check_reduction(op: str, reduction: Any) -> None:
    if not isinstance(reduction, str) or reduction not in REDUCTIONS:
        raise unknown_reduction(op, reduction)


def _reduce(losses: Any, reduction: str) -> Tensor:
    return losses if reduction == "none" else FUNCTIONS[reduction](losses)
