"""The functions that modules call. They pass PyTorch's arguments to the functions of :mod:`minitensor.engine.layers`.

Some signatures repeat those in :mod:`minitensor.nn.functional`, because the functions of each framework are defined
separately, even if PyTorch and Paddle agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.autocasting import autocasts
from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.engine.dtypes import FLOATS, HALVES, INDICES
from minitensor.engine.layers import activations, attention, convolution, image_patches, normalization, pooling
from minitensor.engine.layers.convolution import pair
from minitensor.engine.modes import modes
from minitensor.torch import result_strides
from minitensor.torch.arguments import need_tensor
from minitensor.torch.dtypes import C_NAMES, SCALAR_NAMES
from minitensor.torch.grad_fn import name_grad_fn
from minitensor.torch.tensor import Tensor, as_result, as_torch


@contextmanager
def _runtime_errors() -> Iterator[None]:
    """Raise the engine's errors about shapes and settings, which are ValueErrors, as RuntimeErrors."""
    try:
        yield
    except ValueError as error:
        raise RuntimeError(str(error)) from None


def _need_one_dtype(input: Any, may_be_wide: bool = False, **others: Any) -> None:
    """Raise RuntimeError if one of ``others`` has another dtype than ``input``, unless autocast converts them.

    Args:
        may_be_wide: True if float32 is allowed beside 16-bit floats.
    """
    if modes.casts is not None or not isinstance(input, BaseTensor) or input._array.dtype not in FLOATS:
        return
    for name, each in others.items():
        if not isinstance(each, BaseTensor) or each._array.dtype == input._array.dtype:
            continue
        if not (may_be_wide and input._array.dtype in HALVES and each._array.dtype == np.float32):
            types = [C_NAMES[x._array.dtype.name] for x in (input, each)]
            raise RuntimeError(f"Input type ({types[0]}) and {name} type ({types[1]}) should be the same")


def _as_images(out: Any, input: Tensor) -> Tensor:
    """Return ``out`` as a tensor of this package, in the memory layout of the images ``input``."""
    return result_strides.arrange(as_torch(out), result_strides.images, input)


@_runtime_errors()
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Slide each kernel of ``weight`` over each image of ``input``, and sum the products of kernel and image elements.

    Args:
        input: images, of shape [images, channels, height, width].
        weight: kernels, of shape [kernels, channels / groups, height, width].
        bias: one number for each kernel.
        stride, padding, dilation: one integer, or two for height and width.
        groups: the number of groups of channels. A kernel belongs to one group and reads only the channels of the
            group.

    Raises:
        RuntimeError: if shapes do not fit, no window fits into an image, or dtypes differ.
    """
    _need_one_dtype(input, weight=weight, bias=bias)
    out = convolution.conv2d(input, weight, bias, stride, padding, dilation, groups)
    return name_grad_fn(as_torch(out), "ConvolutionBackward0")


@_runtime_errors()
def max_pool2d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0) -> Tensor:
    """Return the maximum of each window; by default ``stride`` is ``kernel_size``. The result has shape [images,
    channels, rows, columns].

    Args:
        input: images, of shape [images, channels, height, width].
        kernel_size, stride, padding: one integer, or two for height and width.

    Raises:
        RuntimeError: if no window fits, or the padding is more than half of the kernel.
    """
    out = pooling.max_pool2d(input, kernel_size, stride, padding)
    return name_grad_fn(_as_images(out, input), "MaxPool2DWithIndicesBackward0")


@_runtime_errors()
def avg_pool2d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, *, count_include_pad: bool = True
) -> Tensor:
    """Return the mean of each window; by default ``stride`` is ``kernel_size``. The result has shape [images, channels,
    rows, columns].

    Args:
        input: images, of shape [images, channels, height, width].
        kernel_size, stride, padding: one integer, or two for height and width.
        count_include_pad: True if the padding counts as zeros.

    Raises:
        RuntimeError: if no window fits, or the padding is more than half of the kernel.
    """
    exclusive = not checks.flag("avg_pool2d()", "count_include_pad", count_include_pad)
    out = pooling.avg_pool2d(input, kernel_size, stride, padding, exclusive)
    return name_grad_fn(_as_images(out, input), "AvgPool2DBackward0")


@_runtime_errors()
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Divide each image into ``output_size`` parts, which may overlap and differ in length by 1, and return the mean of
    each part. The result has shape [images, channels, *output_size].

    Args:
        input: images, of shape [images, channels, height, width].
        output_size: one integer, or two for height and width.

    Raises:
        RuntimeError: if the images have another shape, or a size is below 1.
    """
    return name_grad_fn(
        _as_images(pooling.adaptive_avg_pool2d(input, output_size), input), "AdaptiveAvgPool2DBackward0"
    )


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """Return ``input`` times the probability that a standard normal number is below ``input`` (Hendrycks and Gimpel
    2016). ``approximate="tanh"`` approximates the probability. The result has the shape of ``input``.

    Raises:
        RuntimeError: if ``approximate`` is neither ``"none"`` nor ``"tanh"``.
        TypeError: if the input is not a tensor of floats.
    """
    if not isinstance(approximate, str) or approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    out = as_torch(activations.gelu(input, approximate == "tanh"))
    return name_grad_fn(result_strides.arrange(out, result_strides.like_operands, input), "GeluBackward0")


@autocasts
@_runtime_errors()
def layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05
) -> Tensor:
    """Normalize each example to mean 0 and variance 1 over its last dimensions (Ba, Kiros and Hinton 2016).

    Args:
        normalized_shape: the lengths of the last dimensions.
        weight, bias: a factor and a summand for the result, each of shape ``normalized_shape``.

    Raises:
        RuntimeError: if the last dimensions of ``input`` have other lengths, or dtypes differ.
    """
    _need_one_dtype(input, True, weight=weight, bias=bias)
    out = normalization.layer_norm(input, normalized_shape, weight, bias, eps)
    return name_grad_fn(result_strides.arrange(as_torch(out), result_strides.contiguous), "NativeLayerNormBackward0")


@autocasts
@_runtime_errors()
def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05
) -> Tensor:
    """Divide the channels of each image into ``num_groups`` groups, and normalize each group to mean 0 and variance 1
    (Wu and He 2018).

    Args:
        input: shape [images, channels, ...].
        weight, bias: shape [channels]: a scale and a shift of each channel.

    Raises:
        RuntimeError: if the channels cannot be divided into ``num_groups`` groups, or dtypes differ.
    """
    _need_one_dtype(input, True, weight=weight, bias=bias)
    out = normalization.group_norm(input, num_groups, eps, weight, bias)
    return name_grad_fn(_as_images(out, input), "NativeGroupNormBackward0")


def instance_norm(
    input: Tensor,
    running_mean: None = None,
    running_var: None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Normalize each channel of each image to mean 0 and variance 1 (Ulyanov, Vedaldi and Lempitsky 2016).

    Args:
        input: shape [images, channels, ...].
        weight, bias: shape [channels]: a scale and a shift of each channel.

    Raises:
        ValueError: if ``input`` has fewer than three dimensions, if running statistics are given, or if
            ``use_input_stats`` is False.
    """
    _need_one_dtype(input, True, weight=weight, bias=bias)
    momentum = checks.real("instance_norm()", "momentum", momentum)
    out = normalization.instance_norm(
        input, running_mean, running_var, weight, bias, use_input_stats, 1 - momentum, eps
    )
    return name_grad_fn(result_strides.arrange(as_torch(out), result_strides.contiguous), "ViewBackward0")


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Return ``(input - mean) / sqrt(variance + eps) * weight + bias`` for each channel (Ioffe and Szegedy 2015).

    In training, mean and variance are those of the batch, and the running mean and variance are updated in place. With
    ``training=False``, the running mean and variance are used. Of n elements, the sum of squared deviations is
    divided by n for the normalization, but by n - 1 for the running variance.

    Args:
        input: shape [rows, channels, ...].
        running_mean, running_var, weight, bias: shape [channels].
        momentum: the weight of the batch's mean and variance in the new running mean and variance.

    Raises:
        ValueError: if a channel has fewer than two values in training, if the running mean or variance is None although
            ``training`` is False, or if ``input`` has fewer than two dimensions.
        RuntimeError: if a running statistic, ``weight`` or ``bias`` does not have one element for each channel, or
            another dtype than ``input``.
        NotImplementedError: if the input does not hold floats.
    """
    need_tensor("batch_norm", input)
    if input._array.dtype not in FLOATS:
        raise NotImplementedError(f"\"batch_norm\" not implemented for '{SCALAR_NAMES[input._array.dtype]}'")
    training = checks.flag("batch_norm()", "training", training)
    momentum, eps = checks.real("batch_norm()", "momentum", momentum), checks.real("batch_norm()", "eps", eps)
    if input._array.ndim < 2:
        raise ValueError(f"batch_norm(): input has rows and channels; its shape is {list(input._array.shape)}")
    given = {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}
    for position, (what, each) in enumerate(given.items(), start=2):
        if each is not None:
            need_tensor("batch_norm", each, position, what)
        if each is not None and each._array.size != input._array.shape[1]:
            raise RuntimeError(f"{what} should contain {input._array.shape[1]} elements not {each._array.size}")
    _need_one_dtype(input, True, **given)
    if training:
        count = input._array.size // max(input._array.shape[1], 1)
        if count == 1:
            raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
        out = normalization.of_batch(input, weight, bias, eps, running_mean, running_var, momentum, count / (count - 1))
    else:
        if running_mean is None or running_var is None:
            raise ValueError("Expected running_mean and running_var to be defined when training=False")
        out = normalization.batch_norm(input, running_mean, running_var, weight, bias, epsilon=eps)
    return name_grad_fn(_as_images(out, input), "NativeBatchNormBackward0")


def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """Return a row of ``weight`` for each index in ``input``. The row ``padding_idx`` gets no gradient. The result has
    the shape of ``input`` and one more dimension at the end, with the length of a row.

    Args:
        input: integers, of any shape.
        weight: shape [rows, length].

    Raises:
        TypeError: if ``input`` does not hold integers.
        IndexError: if an integer is not the number of a row.
    """
    need_tensor("embedding", input)
    if input._array.dtype in INDICES and input._array.size and int(input._array.min()) < 0:
        raise IndexError("index out of range in self\nembedding(): an index is below 0, and rows are counted from 0")
    return name_grad_fn(as_result(attention.embedding(input, weight, padding_idx)), "EmbeddingBackward0")


@_runtime_errors()
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
) -> Tensor:
    """Return ``softmax(query @ key.T / sqrt(length)) @ value`` over the last two dimensions (Vaswani et al. 2017).

    Args:
        query: shape [..., queries, length].
        key: shape [..., keys, length].
        value: shape [..., keys, any].
        attn_mask: bools, True for the keys that a query may see, or floats that are added to the scores.
        is_causal: True if query i sees only the keys from 0 to i.

    Raises:
        RuntimeError: if shapes do not fit, dtypes differ, or both a mask and ``is_causal`` are given.
        TypeError: if ``query``, ``key`` or ``value`` does not hold floats.
    """
    _need_one_dtype(query, key=key, value=value)
    out = attention.attend(query, key, value, attn_mask, dropout_p, is_causal)
    out = result_strides.arrange(as_torch(out), result_strides.attended, query, key, value)
    return name_grad_fn(out, "ScaledDotProductFlashAttentionForCpuBackward0")


@_runtime_errors()
def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Return the patches of images under a sliding window, each as a column.

    Args:
        input: images, of shape [images, channels, height, width] or [channels, height, width].
        kernel_size, dilation, padding, stride: one integer, or two for height and width.

    Returns:
        A tensor of shape [images, channels * kernel height * kernel width, patches], or without the first dimension if
        ``input`` has only three dimensions.

    Raises:
        RuntimeError: if no window fits, or if ``input`` has another shape.
    """
    need_tensor("unfold", input)
    if input._array.ndim == 3:
        return unfold(input.unsqueeze(0), kernel_size, dilation, padding, stride).squeeze(0)
    padding = pair("unfold", "padding", padding, 0)
    out = image_patches.unfold(input, kernel_size, stride, padding, dilation)
    return name_grad_fn(result_strides.arrange(as_torch(out), result_strides.contiguous), "Im2ColBackward0")


@_runtime_errors()
def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Add patches, each of them a column, to images of zeros, at the positions from which :func:`unfold` reads them.
    The result has shape [images, channels, height, width].

    ``fold`` inverts :func:`unfold` if the patches cover the images without overlaps.

    Args:
        input: patches, of shape [images, channels * kernel height * kernel width, patches].
        output_size: height and width of the images.
        kernel_size, dilation, padding, stride: as for :func:`unfold`.

    Raises:
        RuntimeError: if the number of patches, or their size, does not fit.
    """
    need_tensor("fold", input)
    padding = pair("fold", "padding", padding, 0)
    out = image_patches.fold(input, output_size, kernel_size, stride, padding, dilation)
    return name_grad_fn(as_torch(out), "Col2ImBackward0")
