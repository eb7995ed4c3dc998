"""Losses as functions, and ``one_hot``."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.autocasting import autocasts
from minitensor.engine.device.arrays import host_array, like
from minitensor.engine.dtypes import FLOATS
from minitensor.engine.layers import losses as engine
from minitensor.torch import result_strides
from minitensor.torch.arguments import need_tensor
from minitensor.torch.compiling import FUNCTIONS
from minitensor.torch.dtypes import SCALAR_NAMES, Size
from minitensor.torch.errors import warn
from minitensor.torch.grad_fn import name_grad_fn
from minitensor.torch.reductions import log_softmax as log_softmax_along
from minitensor.torch.tensor import Tensor, as_torch, without_history

_add, _sub, _mul, _div, _sum, _mean, _where = (
    FUNCTIONS[name] for name in ("add", "sub", "mul", "div", "sum", "mean", "where")
)


def _reduce(each: Tensor, reduction: str, name: str) -> Tensor:
    """Return the mean or the sum of the losses ``each``, or the losses themselves, as ``reduction`` requires.

    The name of the result's ``grad_fn`` begins with ``name``.
    """
    checks.text(name, "reduction", reduction)
    if reduction == "none":
        return name_grad_fn(each, f"{name}Backward0")
    if reduction not in ("mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return name_grad_fn((_mean if reduction == "mean" else _sum)(each), f"{name}Backward0")


def _lay_out(out: Tensor, *inputs: Tensor) -> Tensor:
    """Return the losses ``out`` in the memory layout of the inputs, as PyTorch does."""
    return result_strides.arrange(out, result_strides.like_operands, *inputs)


def _check_sizes(input: Tensor, target: Tensor) -> None:
    """Warn if the shapes differ, because broadcasting would then compare predictions with wrong targets.

    Raises:
        TypeError: if an argument is not a tensor.
    """
    need_tensor("loss", input)
    need_tensor("loss", target, 2)
    if input._array.shape != target._array.shape:
        warn(
            f"Using a target size ({Size(target._array.shape)}) that is different to the input size "
            f"({Size(input._array.shape)}). This will likely lead to incorrect results due to broadcasting. Please "
            f"ensure they have the same size."
        )


@autocasts
def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Return the mean squared difference; with ``reduction="sum"``, the sum. Warn if the shapes differ.

    Args:
        input, target: of the same shape. With ``reduction="none"`` the result has that shape, else no dimensions.

    Raises:
        RuntimeError: if the shapes cannot be broadcast.
        ValueError: if ``reduction`` is unknown.
        TypeError: if an argument is not a tensor.
    """
    _check_sizes(input, target)
    difference = _sub(input, target)
    return _reduce(_mul(difference, difference), reduction, "MseLoss")


@autocasts
def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Return the mean absolute difference; with ``reduction="sum"``, the sum. Warn if the shapes differ.

    Args:
        input, target: of the same shape. With ``reduction="none"`` the result has that shape, else no dimensions.

    Raises:
        RuntimeError: if the shapes cannot be broadcast.
        ValueError: if ``reduction`` is unknown.
        TypeError: if an argument is not a tensor.
    """
    _check_sizes(input, target)
    name = "L1Loss" if checks.text("l1_loss()", "reduction", reduction) == "none" else "Mean"
    return _reduce(FUNCTIONS["abs"](_sub(input, target)), reduction, name)


@autocasts
def smooth_l1_loss(input: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """Return the mean loss for the differences ``d``: ``0.5 * d ** 2 / beta`` if ``abs(d)`` is below ``beta``, else
    ``abs(d) - 0.5 * beta`` (Girshick 2015). With ``reduction="sum"``, return the sum. Warn if the shapes differ.

    Args:
        input, target: of the same shape. With ``reduction="none"`` the result has that shape, else no dimensions.

    Raises:
        RuntimeError: if the shapes cannot be broadcast.
        ValueError: if ``reduction`` is unknown.
        TypeError: if an argument is not a tensor.
    """
    _check_sizes(input, target)
    distance = _sub(input, target)
    beta = checks.real("smooth_l1_loss()", "beta", beta, least=0)
    if not beta:
        return _reduce(FUNCTIONS["abs"](distance), reduction, "SmoothL1Loss")
    near = FUNCTIONS["clamp"](distance, -beta, beta)
    return _reduce(_div(_mul(near, _sub(distance, _mul(near, 0.5))), beta), reduction, "SmoothL1Loss")


def _class_dim(input: Tensor, target: Tensor) -> int:
    """Return the index of the dimension of ``input`` that has an element for each class.

    Raises:
        RuntimeError, ValueError: if ``target`` is not int64, or does not have one class for each example.
    """
    if target._array.dtype != np.int64:
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {SCALAR_NAMES[target._array.dtype]}")
    shape, target_shape = input._array.shape, target._array.shape
    if not shape:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    if len(shape) == 1 and target_shape == ():
        return 0
    if len(shape) == 1:
        raise ValueError(
            f"For 1D input, the target must have no dimension, but got target of shape: {list(target_shape)}"
        )
    if len(shape) == 2 and len(target_shape) > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if shape[:1] != target_shape[:1]:
        batches = shape[0] if shape else 1, target_shape[0] if target_shape else 1
        raise ValueError(f"Expected input batch_size ({batches[0]}) to match target batch_size ({batches[1]}).")
    if shape[2:] != target_shape[1:]:
        raise RuntimeError(f"input and target do not match: input is {list(shape)}, target {list(target_shape)}")
    return 1


def _need_class_weight(op: str, weight: Any, count: int) -> None:
    """Check that ``weight`` is a tensor with one number for each of ``count`` classes.

    Raises:
        TypeError, RuntimeError: if it is anything else.
    """
    need_tensor(op, weight, 3, "weight")
    if weight._array.shape != (count,):
        raise RuntimeError(
            f"{op}: weight tensor should be defined either for all {count} classes or no classes but got "
            f"weight tensor of shape: {list(weight._array.shape)}"
        )


def _nll(log_p: Tensor, target: Tensor, weight: Any, ignore_index: int, reduction: str, smoothing: float) -> Tensor:
    need_tensor("nll_loss", log_p)
    need_tensor("nll_loss", target, 2)
    dim = _class_dim(log_p, target)
    count = log_p._array.shape[dim]
    if weight is not None:
        _need_class_weight("nll_loss", weight, count)
        if weight._array.dtype != log_p._array.dtype:
            names = SCALAR_NAMES[log_p._array.dtype], SCALAR_NAMES[weight._array.dtype]
            raise RuntimeError(f"nll_loss: expected scalar type {names[0]} but found {names[1]} in weight")
    labels = host_array(target._array)
    counted = labels != ignore_index
    wrong = labels[counted & ((labels < 0) | (labels >= count))]
    if wrong.size:
        raise IndexError(f"Target {wrong[0]} is out of bounds.\nThere are {count} classes, from 0 to {count - 1}.")
    mask = without_history(log_p, like(counted, log_p._array), "nll_loss")
    classes = FUNCTIONS["where"](mask, target, 0)
    each = FUNCTIONS["neg"](FUNCTIONS["gather"](log_p, dim, classes.unsqueeze(dim)).squeeze(dim))
    weights: Any = mask.to(log_p.dtype)
    if weight is not None:
        weights = _mul(weights, FUNCTIONS["index_select"](weight, 0, classes.reshape(-1)).reshape(classes.shape))
        each = _mul(each, weights)
    if not counted.all():
        each = _where(mask, each, 0.0)
    if smoothing:
        shape = [1] * log_p._array.ndim
        shape[dim] = count
        weighted = log_p if weight is None else _mul(log_p, weight.reshape(shape))
        uniform = FUNCTIONS["neg"](_where(mask, _sum(weighted, dim), 0.0))
        each = _add(_mul(each, 1 - smoothing), _mul(uniform, smoothing / count))
    name = "Add" if smoothing else "NllLoss"
    if reduction != "mean" or (weight is None and counted.all()):
        return _reduce(each, reduction, name)
    return name_grad_fn(_div(_sum(each), _sum(weights)), f"{name}Backward0")


@autocasts
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: None = None,
    ignore_index: int = -100,
    reduce: None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the mean negative log-probability of the target class.

    Args:
        input: the log-probability of each class, for each example: shape [rows, classes], [classes], or [rows, classes,
            ...].
        target: int64, the class of each example: shape [rows], [], or [rows, ...].
        weight: the weight of each class, shape [classes]; the mean is a weighted mean.
        ignore_index: examples of this class are ignored.

    Returns:
        A tensor without dimensions; with ``reduction="none"``, one loss for each example.

    Raises:
        ValueError: if there is not one target for each example, or ``reduction`` is unknown.
        IndexError: if a target is not a class.
        RuntimeError: if ``target`` is not int64, or if an argument has another shape.
    """
    return _nll(input, target, weight, ignore_index, reduction, 0.0)


@autocasts
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: None = None,
    ignore_index: int = -100,
    reduce: None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Apply softmax, and return the mean negative log-probability of the target class.

    Args:
        input: the logits, of shape [rows, classes], [classes], or [rows, classes, ...].
        target: int64, the class of each example: shape [rows], [], or [rows, ...]. Or floats of the shape of ``input``:
            the probability of each class, by which the log-probabilities are weighted.
        weight: the weight of each class, shape [classes]; the mean is a weighted mean.
        ignore_index: examples of this class are ignored.
        label_smoothing: the share of each target that is spread evenly over all classes, from 0 to 1.

    Returns:
        A tensor without dimensions; with ``reduction="none"``, one loss for each example.

    Raises:
        ValueError: if there is not one target for each example, or ``reduction`` is unknown.
        IndexError: if a target is not a class.
        RuntimeError: if ``target`` holds neither int64 nor such probabilities, if an argument has another shape, or if
            ``label_smoothing`` is not from 0 to 1.
    """
    need_tensor("cross_entropy", input)
    need_tensor("cross_entropy", target, 2)
    label_smoothing = checks.real("cross_entropy()", "label_smoothing", label_smoothing)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    dim = 0 if input._array.ndim == 1 else 1
    log_p = log_softmax_along(input, dim)
    if target._array.shape != input._array.shape or target._array.dtype not in FLOATS:
        return _nll(log_p, target, weight, ignore_index, reduction, label_smoothing)
    count = input._array.shape[dim]
    if label_smoothing:
        target = _add(_mul(target, 1 - label_smoothing), label_smoothing / count)
    across = [1] * input._array.ndim
    across[dim] = count
    if weight is not None:
        _need_class_weight("cross_entropy", weight, count)
    products = _mul(log_p, target) if weight is None else _mul(_mul(log_p, target), weight.reshape(across))
    return _reduce(FUNCTIONS["neg"](_sum(products, dim)), reduction, "Div")


@autocasts
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: None = None,
    reduce: None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the mean negative log-probability of ``target``. ``input`` is the probability that the target is 1.

    A logarithm below -100 is replaced by -100.

    Args:
        input, target: of the same shape. With ``reduction="none"`` the result has that shape, else no dimensions.

    Raises:
        ValueError: if the shapes differ.
        RuntimeError: if an element of ``input`` is not a probability, or if ``input`` and ``target`` have different
            dtypes of floats.
        TypeError: if ``target`` does not hold floats.
    """
    need_tensor("binary_cross_entropy", input)
    need_tensor("binary_cross_entropy", target, 2)
    if input._array.dtype != target._array.dtype and {input._array.dtype, target._array.dtype} <= set(FLOATS):
        found, wanted = SCALAR_NAMES[target._array.dtype], SCALAR_NAMES[input._array.dtype]
        raise RuntimeError(f"Found dtype {found} but expected {wanted}: binary_cross_entropy() needs one dtype")
    if input._array.shape != target._array.shape:
        raise ValueError(
            f"Using a target size ({Size(target._array.shape)}) that is different to the input size "
            f"({Size(input._array.shape)}) is deprecated. Please ensure they have the same size."
        )
    if input._array.size and not (input._array.min() >= 0 and input._array.max() <= 1):
        raise RuntimeError(
            "all elements of input should be between 0 and 1\n"
            "Put a sigmoid before it, or take binary_cross_entropy_with_logits."
        )
    out = engine.binary_cross_entropy(input, target, weight, reduction)
    return name_grad_fn(as_torch(out), "BinaryCrossEntropyBackward0")


@autocasts
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: None = None,
    reduce: None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Return the mean negative log-probability of ``target``, which is 1 with the probability ``sigmoid(input)``.

    The computation does not overflow.

    Args:
        input, target: of the same shape. With ``reduction="none"`` the result has that shape, else no dimensions.

    Raises:
        ValueError: if the shapes differ.
        TypeError: if ``target`` does not hold floats.
    """
    out = engine.binary_cross_entropy_with_logits(input, target, weight, reduction, pos_weight)
    return name_grad_fn(_lay_out(as_torch(out), target, input), "BinaryCrossEntropyWithLogitsBackward0")


@autocasts
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: None = None,
    reduce: None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Return ``target * (log(target) - input)`` (Kullback and Leibler 1951), reduced as ``reduction`` requires.

    ``"batchmean"`` divides the sum by the number of rows, so that the result is the mean divergence of the rows.
    ``"mean"`` divides the sum by the number of elements, and warns.

    Args:
        input, target: of shapes that are broadcast against each other. With ``reduction="none"`` the result has the
            broadcast shape, else no dimensions.
        log_target: True if ``target`` holds logarithms of probabilities. ``input`` always does.

    Raises:
        RuntimeError: if the shapes cannot be broadcast.
        ValueError: if ``reduction`` is unknown.
    """
    need_tensor("kl_div", input)
    need_tensor("kl_div", target, 2)
    checks.text("kl_div()", "reduction", reduction)
    log_target = checks.flag("kl_div()", "log_target", log_target)
    if reduction == "mean":
        warn("reduction: 'mean' divides the total loss by both the batch size and the support size."
             "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
             "'mean' will be changed to behave the same as 'batchmean' in the next major release.")  # fmt: skip
    if log_target:
        losses = _mul(FUNCTIONS["exp"](target), _sub(target, input))
    else:
        losses = _sub(FUNCTIONS["xlogy"](target, target), _mul(target, input))
    if reduction == "batchmean":
        rows = input._array.shape[0] if input._array.ndim else 1
        return name_grad_fn(_div(_sum(losses), rows), "DivBackward0")
    return _reduce(losses, reduction, {"mean": "Mean", "sum": "Sum"}.get(reduction, "Sub"))


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Return a row of int64 numbers for each element of ``tensor``: the row is 1 at the element's class, 0 elsewhere.

    The result has the shape of ``tensor`` and one more dimension at the end, of length ``num_classes``.

    Args:
        tensor: int64, of any shape.
        num_classes: the number of classes. With -1, it is the largest element plus 1.

    Raises:
        TypeError: if ``num_classes`` is not an integer.
        RuntimeError: if the dtype is not int64, or an element is not a class.
    """
    need_tensor("one_hot", tensor)
    num_classes = checks.integer("one_hot()", "num_classes", num_classes)
    array = host_array(tensor._array)
    if array.dtype != np.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if array.size == 0 and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if array.size and array.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        num_classes = int(array.max()) + 1
    elif array.size and array.max() >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    hot = (array[..., None] == np.arange(num_classes)).astype(np.int64)
    return without_history(tensor, like(hot, tensor._array), "one_hot")
