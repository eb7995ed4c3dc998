"""Cross entropy of a softmax as one operation, which saves no array of probabilities for backward.

Two numbers are saved for each row: the highest score, and the sum of the exponentials of all scores. From these numbers
and the input, backward computes the probabilities again, in two passes. Scores of any size are possible, because the
highest score is subtracted before the exponentials are computed.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from minitensor.engine import checks
from minitensor.engine.core.errors import devices_differ
from minitensor.engine.core.history import Node
from minitensor.engine.core.storage import new_storage
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.device.arrays import gpu_of, like
from minitensor.engine.dtypes import INDICES
from minitensor.engine.kernels.activations import blocks
from minitensor.engine.kernels.reducing import largest, total
from minitensor.engine.layers.custom_operation import arguments_of, computed, floats_of, operation, recorded
from minitensor.engine.operations import FUNCTIONS
from minitensor.engine.operations.arguments import as_axis, need_tensor

Array = Any

REDUCTIONS = ("mean", "sum", "none")
_UNSIGNED = {np.dtype(signed): np.dtype(f"u{signed}") for signed in ("int32", "int64")}


class Settings(NamedTuple):
    """How labels are read, and how losses are combined.

    Attributes:
        ignored: the label of rows that the loss ignores; None if labels are probabilities, or if the check of labels
            has shown that no row is ignored.
        rows: the divisor of a mean: the number of rows that are not ignored, or 1 if all are ignored.
        soft: true if labels are probabilities.
        axis, reduction: as for :func:`cross_entropy`.
    """

    ignored: int | None
    rows: int
    soft: bool
    axis: int
    reduction: str


def _with_axis(label: Array, input: Array, axis: int) -> Array:
    """Return labels with as many dimensions as the input: labels without ``axis`` get this axis with length 1."""
    return label if label.ndim == input.ndim else label.reshape((*label.shape[:axis], 1, *label.shape[axis:]))


def _one_hot(label: Array, input: Array, axis: int) -> Array:
    """Return a mask in the shape of ``input``, True at the class of each row. ``label`` has length 1 along ``axis``."""
    numbers = np.arange(input.shape[axis], dtype=label.dtype)
    return np.equal(label, like(numbers.reshape([-1 if d == axis else 1 for d in range(input.ndim)]), label))


def _positions_of_classes(label: Array, shape: tuple[int, ...], settings: Settings) -> Array:
    """Return the position of each row's class in a flattened array of ``shape``; for an ignored row, of class 0."""
    axis, ignored = settings.axis, settings.ignored
    if ignored is not None:
        label = np.where(np.not_equal(label, ignored), label, 0)
    inner = math.prod(shape[axis + 1 :])
    step = shape[axis] * inner
    span = 0, math.prod(shape), max(step, 1)
    starts = np.arange(*span) if type(label) is np.ndarray else np.arange(*span, like=label)
    if inner == 1:
        return label.reshape(-1) + starts
    return (label.reshape(-1, inner) * inner + starts.reshape(-1, 1) + np.arange(inner, like=label)).reshape(-1)


def _reduced_losses(a: Array, label: Array, settings: Settings) -> tuple[Any, Array, Array]:
    """Return the loss, or one loss per row; and for each row the highest score and the sum of the exponentials."""
    losses, highest, sums = _losses(a, label, settings)
    if settings.reduction != "none":
        losses = total(losses, None, False)
        if settings.reduction == "mean":
            losses = np.divide(losses, settings.rows)  # the mean is nan if there is no row
    return losses, highest, sums


def _losses(a: Array, label: Array, settings: Settings) -> tuple[Array, Array, Array]:
    """Return the loss, the highest score and the sum of the exponentials of each row, with length 1 along the axis."""
    parts = blocks(a, settings.axis)
    if len(parts) == 1:
        return _losses_of(a, label, settings)
    found = [_losses_of(a[part], label[part], settings) for part in parts]
    return tuple(np.concatenate(each) for each in zip(*found, strict=True))  # type: ignore[return-value]  # three arrays per part


def _losses_of(a: Array, label: Array, settings: Settings) -> tuple[Array, Array, Array]:
    ignored, soft, axis = settings.ignored, settings.soft, settings.axis
    highest = largest(a, axis, True)
    shifted = np.subtract(a, highest, out=np.empty_like(a, order="C"))
    if soft:
        of_class = total(np.multiply(label, shifted), axis, True)
    else:
        of_class = shifted.reshape(-1).take(_positions_of_classes(label, a.shape, settings)).reshape(highest.shape)
    np.exp(shifted, shifted)
    sums = total(shifted, axis, True)
    losses = np.log(sums)
    if soft:
        np.multiply(losses, total(label, axis, True), losses)
    np.subtract(losses, of_class, losses)
    if ignored is not None:
        losses = np.where(np.not_equal(label, ignored), losses, 0)
    return losses, highest, sums


def _row_gradients(g: Any, settings: Settings, ndim: int) -> Any:
    """Return the gradient of each row's loss, with length 1 along ``axis``. Ignored rows get one as well.

    A gradient that is the same for all rows is returned once, with length 1 along all dimensions.
    """
    _, rows, _, axis, reduction = settings
    if g.ndim != ndim:
        g = g.reshape((*g.shape[:axis], 1, *g.shape[axis:]) if g.ndim else (1,) * ndim)
    if reduction == "mean":
        g = g / (np.array(rows, g.dtype) if type(g) is np.ndarray else rows)  # a Python number would take 900 ns longer
    return g


def _on_arrays(node: Node, g: Array, input: Array, label: Array) -> Any:
    settings, highest, sums, _ = arguments_of(node)
    label = _with_axis(label, input, settings.axis)
    share = _row_gradients(g, settings, input.ndim)
    gradient = np.empty_like(input, order="C")
    parts = blocks(input, settings.axis)
    if len(parts) == 1:
        _gradient(input, label, highest, sums, share, settings, gradient)
        return gradient, None
    for part in parts:
        part_share = share if len(share) == 1 else share[part]
        _gradient(input[part], label[part], highest[part], sums[part], part_share, settings, gradient[part])
    return gradient, None


def _gradient(a: Array, label: Array, highest: Array, sums: Array, share: Any, settings: Settings, out: Array) -> None:
    """Write the gradient of the losses of some rows, multiplied by the arrived gradients ``share``, into ``out``."""
    np.subtract(a, highest, out)
    np.exp(out, out)
    if settings.soft:
        np.multiply(out, total(label, settings.axis, True) / sums, out)
        np.subtract(out, label, out)
        np.multiply(out, share, out)
    else:
        np.multiply(out, share / sums, out)
        line, positions = out.reshape(-1), _positions_of_classes(label, a.shape, settings)
        line[positions] = line.take(positions) - share.reshape(-1)
        # Ignored rows get 0 by assignment, because a product with 0 would keep nan.
        if settings.ignored is not None:
            np.copyto(out, 0, where=np.equal(label, settings.ignored))


def _on_tensors(node: Node, g: Any, input: Any, label: Tensor) -> Any:
    settings, *_ = arguments_of(node)
    a, axis = input._array, settings.axis
    classes = _with_axis(label._array, a, axis)
    p = FUNCTIONS["softmax"](input, axis)
    if settings.soft:
        p = p * Tensor._made(classes.sum(axis=axis, keepdims=True))
    target = classes if settings.soft else _one_hot(classes, a, axis)
    counts = np.ones((), a.dtype, like=a) if settings.ignored is None else np.not_equal(classes, settings.ignored)
    share = _row_gradients(g, settings, input.ndim) * Tensor._made(counts.astype(a.dtype))
    gradient = (p - Tensor._made(target.astype(a.dtype))) * share
    if settings.ignored is not None:
        gradient = FUNCTIONS["where"](Tensor._made(np.broadcast_to(counts, a.shape).copy()), gradient, 0.0)
    return gradient, None


CROSS_ENTROPY = operation("cross_entropy", ("input", "label"), _on_arrays, _on_tensors)


def cross_entropy(
    input: Tensor,
    label: Tensor,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    soft_label: bool = False,
    axis: int = -1,
    name: str | None = None,
) -> Tensor:
    """Return the negative log-probability of the right class, under a softmax of ``input``.

    For backward, ``input`` and ``label`` are saved by reference, and two numbers are saved for each row. The gradient
    of a row is its probabilities, minus 1 at the right class.

    Args:
        input: scores, of shape [rows, classes], or with more dimensions and the classes along ``axis``.
        label: the right class of each row (integers, in the shape of ``input`` without ``axis``, or with length 1
            there); with ``soft_label``, a probability for each class, in the shape of ``input``.
        ignore_index: the label of rows that the loss ignores.
        reduction: ``"mean"`` over the rows that are not ignored, ``"sum"``, or ``"none"`` for one number for each row,
            in the shape of the labels (for soft labels, with length 1 along ``axis``).

    Raises:
        ValueError: if the shapes do not fit, or if ``reduction`` is unknown.
        IndexError: if a label is not a class, or if ``input`` does not have that axis.
        TypeError: if the input does not hold floats, or the labels do not hold integers; if soft labels require a
            gradient.
    """
    need_tensor("cross_entropy", label, "label")
    soft_label = checks.flag("cross_entropy", "soft_label", soft_label)
    if soft_label:
        scores, label = floats_of("cross_entropy", input=input, label=label)
    else:
        (scores,) = floats_of("cross_entropy", input=input)
    a, given = scores._array, label._array
    if a.ndim == 0:
        raise ValueError("cross_entropy: input must have a dimension for the classes, but its shape is []")
    axis = as_axis("cross_entropy", axis, a.ndim)
    ignored = checks.integer("cross_entropy", "ignore_index", ignore_index)
    if not isinstance(reduction, str) or reduction not in REDUCTIONS:
        raise unknown_reduction("cross_entropy", reduction)
    ignored_and_rows = (_check_soft_labels if soft_label else _check_classes)(scores, label, ignored, axis)
    settings = Settings(*ignored_and_rows, soft_label, axis, reduction)
    out, highest, sums = computed(_reduced_losses, a, _with_axis(given, a, axis), settings)
    if reduction == "none" and given.ndim != a.ndim:
        out = out.reshape(given.shape)
    counted = () if scores.stop_gradient else (new_storage(highest), new_storage(sums))
    return recorded(out, CROSS_ENTROPY, (scores, label), ((0,), (0,)), settings, highest, sums, counted)


def softmax_with_cross_entropy(
    logits: Tensor,
    label: Tensor,
    soft_label: bool = False,
    ignore_index: int = -100,
    return_softmax: bool = False,
    axis: int = -1,
) -> Any:
    """Return the loss of each row, with length 1 along ``axis``; with ``return_softmax`` also the probabilities.

    This is Paddle's older name of :func:`cross_entropy` with ``reduction="none"``.

    Args:
        logits, label: of the shapes that :func:`cross_entropy` takes.

    Raises:
        ValueError, IndexError, TypeError: as in :func:`cross_entropy`.
    """
    return_softmax = checks.flag("softmax_with_cross_entropy", "return_softmax", return_softmax)
    losses = cross_entropy(logits, label, ignore_index=ignore_index, reduction="none", soft_label=soft_label, axis=axis)
    if losses.ndim < logits.ndim:
        losses = losses.unsqueeze(as_axis("softmax_with_cross_entropy", axis, logits.ndim))
    return (losses, FUNCTIONS["softmax"](logits, axis)) if return_softmax else losses


def unknown_reduction(op: str, reduction: Any) -> ValueError:
    """Return the error for a ``reduction`` that is not in :data:`REDUCTIONS`."""
    return ValueError(f"{op}: reduction must be 'mean', 'sum' or 'none', not {checks.shown(reduction)}")


def _check_soft_labels(input: Tensor, label: Tensor, ignored: int, axis: int) -> tuple[None, int]:
    """Check labels that are probabilities; return ``ignored`` and ``rows`` of :class:`Settings`."""
    if not label.stop_gradient:
        raise TypeError("cross_entropy: no gradient is computed for soft labels; pass `label.detach()`")
    if label.shape != input.shape:
        raise ValueError(
            f"cross_entropy: soft labels must have the shape {input.shape} of the input, not {label.shape}"
        )
    return None, max(input.size // max(input.shape[axis], 1), 1)


def _check_classes(input: Tensor, label: Tensor, ignored: int, axis: int) -> tuple[int | None, int]:
    """Check labels that are classes; return ``ignored`` and ``rows`` of :class:`Settings`."""
    a, given = input._array, label._array
    if gpu_of(a) is not gpu_of(given):
        raise devices_differ("cross_entropy", (a, given))
    if given.dtype not in INDICES:
        raise TypeError(
            f"cross_entropy: labels must be classes (int32 or int64), not {label.dtype.name}; probabilities are given "
            "with "
            f"soft_label=True"
        )
    before, after = a.shape[:axis], a.shape[axis + 1 :]
    if given.shape not in ((*before, *after), (*before, 1, *after)):
        raise ValueError(
            f"cross_entropy: input of shape {input.shape} has one label for each row, in the shape "
            f"{[*before, *after]}; the labels have shape {label.shape}"
        )
    classes = a.shape[axis]
    # As unsigned numbers, negative labels are too large, so that one comparison suffices.
    if given.size == 0 or (
        not 0 <= ignored < classes and largest(given.view(_UNSIGNED[given.dtype]), None, False).item() < classes
    ):
        return None, given.size
    counts = np.not_equal(given, ignored)
    wrong = counts & ((given < 0) | (given >= classes))
    if wrong.any():
        raise IndexError(
            f"cross_entropy: label {int(given[wrong][0].item())} is not a class; with an input of shape {input.shape} "
            f"classes are from 0 to {classes - 1} (ignore_index is {ignored})"
        )
    return ignored, max(int(counts.sum().item()), 1)
