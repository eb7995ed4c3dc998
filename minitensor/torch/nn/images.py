"""Modules for images: convolution, normalization and pooling.

They resemble Paddle's layers, but have PyTorch's arguments and errors.
"""

from __future__ import annotations

from typing import Any

from minitensor.engine import checks
from minitensor.engine.checks import shown
from minitensor.engine.layers.convolution import pair
from minitensor.torch.arguments import need_tensor
from minitensor.torch.creation import ones, tensor, zeros
from minitensor.torch.dtypes import int64
from minitensor.torch.nn import functional as F
from minitensor.torch.nn.layers import _Weighted
from minitensor.torch.nn.module import Module
from minitensor.torch.nn.parameter import Parameter
from minitensor.torch.tensor import Tensor


class Conv2d(_Weighted):
    """Convolution of images [images, in_channels, height, width] to [images, out_channels, rows, columns]: see
    ``functional.conv2d``.

    ``weight`` has the shape [out_channels, in_channels / groups, *kernel_size], ``bias`` [out_channels].

    Raises:
        ValueError: if the channels cannot be divided into ``groups``, if ``padding_mode`` is not "zeros", or if a
            kernel length is below 1.
        RuntimeError: if a number of channels is negative, or on a call, if the images have another shape or dtype.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if not isinstance(padding_mode, str) or padding_mode != "zeros":
            raise ValueError(f"Conv2d: padding_mode must be 'zeros', not {shown(padding_mode)}")
        in_channels = checks.integer("Conv2d()", "in_channels", in_channels)
        out_channels = checks.integer("Conv2d()", "out_channels", out_channels)
        groups, bias = checks.integer("Conv2d()", "groups", groups), checks.flag("Conv2d()", "bias", bias)
        if groups < 1:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = pair("Conv2d", "kernel_size", kernel_size, 1)
        self.stride, self.padding, self.dilation = (
            pair("Conv2d", name, given, least)
            for name, given, least in (("stride", stride, 1), ("padding", padding, 0), ("dilation", dilation, 1))
        )
        self._create_parameters((out_channels, in_channels // groups, *self.kernel_size), bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.conv2d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        text += f", padding={self.padding}" if self.padding != (0, 0) else ""
        text += f", dilation={self.dilation}" if self.dilation != (1, 1) else ""
        text += f", groups={self.groups}" if self.groups != 1 else ""
        return text + (", bias=False" if self.bias is None else "")


def _register_scale_and_shift(module: Module, shape: Any, weight: bool, bias: bool) -> None:
    module.register_parameter("weight", Parameter(ones(shape)) if weight else None)
    module.register_parameter("bias", Parameter(zeros(shape)) if bias else None)


class _BatchNorm(Module):
    """Normalize each channel: in training by the mean and variance of the batch, after ``eval()`` by running averages.

    With ``track_running_stats=False``, the mean and variance of the batch are always used.

    Attributes:
        dimensions: how many dimensions an input may have, such as 2 or 3.
    """

    dimensions: tuple[int, ...]

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-05,
        momentum: float = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        op = f"{type(self).__name__}()"
        self.num_features = num_features = checks.integer(op, "num_features", num_features)
        self.eps, self.momentum = checks.real(op, "eps", eps), checks.real(op, "momentum", momentum)
        self.affine = affine = checks.flag(op, "affine", affine)
        self.track_running_stats = checks.flag(op, "track_running_stats", track_running_stats)
        bias = checks.flag(op, "bias", bias)
        _register_scale_and_shift(self, num_features, affine, affine and bias)
        for name, create in (("running_mean", zeros), ("running_var", ones)):
            self.register_buffer(name, create(num_features) if track_running_stats else None)
        self.register_buffer("num_batches_tracked", tensor(0, dtype=int64) if track_running_stats else None)

    def forward(self, input: Tensor) -> Tensor:
        need_tensor(type(self).__name__, input)
        if input.dim() not in self.dimensions:
            expected = " or ".join(f"{count}D" for count in self.dimensions)
            raise ValueError(f"expected {expected} input (got {input.dim()}D input)")
        by_batch = self.training or self.running_mean is None
        result = F.batch_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias, by_batch, self.momentum, self.eps
        )
        # The batch is counted after the call, so that a refused input leaves the count unchanged.
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
        return result

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


@checks.with_own_methods
class BatchNorm1d(_BatchNorm):
    """Batch normalization of [rows, num_features] or [rows, num_features, length]: see ``functional.batch_norm``.

    Raises:
        ValueError: if the input has another shape.
    """

    dimensions = (2, 3)


@checks.with_own_methods
class BatchNorm2d(_BatchNorm):
    """Batch normalization of [images, num_features, height, width]: see ``functional.batch_norm``.

    Raises:
        ValueError: if the input has another shape.
    """

    dimensions = (4,)


class LayerNorm(Module):
    """Normalize each example to mean 0 and variance 1 over its last dimensions: see ``functional.layer_norm``.

    Args:
        normalized_shape: the lengths of the last dimensions of the input, over which it is normalized; an integer means
            the last one only. ``weight`` and ``bias`` have this shape.

    Raises:
        RuntimeError: if the last dimensions of the input have other lengths.
    """

    def __init__(
        self, normalized_shape: Any, eps: float = 1e-05, elementwise_affine: bool = True, bias: bool = True
    ) -> None:
        super().__init__()
        single = hasattr(type(normalized_shape), "__index__")
        lengths = tuple(
            checks.integers("LayerNorm()", "normalized_shape", [normalized_shape] if single else normalized_shape)
        )
        elementwise_affine = checks.flag("LayerNorm()", "elementwise_affine", elementwise_affine)
        bias, eps = checks.flag("LayerNorm()", "bias", bias), checks.real("LayerNorm()", "eps", eps)
        self.normalized_shape, self.eps, self.elementwise_affine = lengths, eps, elementwise_affine
        _register_scale_and_shift(self, lengths, elementwise_affine, elementwise_affine and bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class GroupNorm(Module):
    """Normalize groups of channels of [images, num_channels, ...] to mean 0 and variance 1: see
    ``functional.group_norm``.

    Raises:
        ValueError: if the channels cannot be divided into ``num_groups`` groups.
        RuntimeError: if the input has another number of channels.
    """

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-05, affine: bool = True, *, bias: bool = True
    ) -> None:
        super().__init__()
        num_groups = checks.integer("GroupNorm()", "num_groups", num_groups, least=1)
        num_channels = checks.integer("GroupNorm()", "num_channels", num_channels)
        eps, affine = checks.real("GroupNorm()", "eps", eps), checks.flag("GroupNorm()", "affine", affine)
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        _register_scale_and_shift(self, num_channels, affine, affine and checks.flag("GroupNorm()", "bias", bias))

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class InstanceNorm2d(Module):
    """Normalize each channel of each image to mean 0 and variance 1: see ``functional.instance_norm``.

    The input has the shape [images, num_features, height, width]. With ``affine=True``, the result is multiplied by
    ``weight``, and ``bias`` is added.

    Raises:
        ValueError: if the input has another number of dimensions.
        RuntimeError: if ``affine`` is true and the input has another number of channels.
    """

    def __init__(
        self, num_features: int, eps: float = 1e-05, momentum: float = 0.1, affine: bool = False, *, bias: bool = True
    ) -> None:
        super().__init__()
        op = "InstanceNorm2d()"
        self.num_features = num_features = checks.integer(op, "num_features", num_features)
        self.eps, self.momentum = checks.real(op, "eps", eps), checks.real(op, "momentum", momentum)
        self.affine = affine = checks.flag(op, "affine", affine)
        _register_scale_and_shift(self, num_features, affine, affine and checks.flag(op, "bias", bias))

    def forward(self, input: Tensor) -> Tensor:
        return F.instance_norm(input, weight=self.weight, bias=self.bias, eps=self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats=False"
        )


class _Pool2d(Module):
    """Base class of pooling over windows of size ``kernel_size``.

    The first cells of two neighbouring windows are ``stride`` apart, by default ``kernel_size``.
    """

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, kernel_size if stride is None else stride, padding

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


@checks.with_own_methods
class MaxPool2d(_Pool2d):
    """The maximum of each window of [images, channels, height, width]: see ``functional.max_pool2d``.

    Raises:
        RuntimeError: on a call, if the images have another shape, if no window fits into them, or if the padding is
            more than half of the window.
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.max_pool2d(input, self.kernel_size, self.stride, self.padding)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, dilation=1, ceil_mode=False"


class AvgPool2d(_Pool2d):
    """The mean of each window of [images, channels, height, width]: see ``functional.avg_pool2d``.

    Raises:
        RuntimeError: on a call, if the images have another shape, if no window fits into them, or if the padding is
            more than half of the window.
    """

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, *, count_include_pad: bool = True
    ) -> None:
        super().__init__(kernel_size, stride, padding)
        self.count_include_pad = checks.flag("AvgPool2d()", "count_include_pad", count_include_pad)

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(
            input, self.kernel_size, self.stride, self.padding, count_include_pad=self.count_include_pad
        )


class AdaptiveAvgPool2d(Module):
    """Divide each image into ``output_size`` parts and return the mean of each part: see
    ``functional.adaptive_avg_pool2d``.

    The input has the shape [images, channels, height, width], the result [images, channels, *output_size].

    Raises:
        RuntimeError: on a call, if the images have another shape or ``output_size`` is below 1.
    """

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"
