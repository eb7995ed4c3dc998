"""Layers under Paddle's names: each holds parameters and settings, and calls a function of ``nn.functional``."""

from __future__ import annotations

import math
from typing import Any

from minitensor.core.tensor import Tensor
from minitensor.nn.convolution import conv2d, pair
from minitensor.nn.cross_entropy import cross_entropy
from minitensor.nn.initializer import Constant, Normal
from minitensor.nn.layer import Layer
from minitensor.nn.linear import linear
from minitensor.nn.losses import l1_loss, mse_loss
from minitensor.nn.normalization import batch_norm
from minitensor.operations import FUNCTIONS
from minitensor.views.viewing import whole


def _count(op: str, name: str, number: Any) -> int:
    if whole(f"{op}: {name}", number) < 1:
        raise ValueError(f"{op}: {name} is at least 1, not {number}")
    return int(number)


class Linear(Layer):
    """``x @ weight + bias``; ``weight`` has the shape [in_features, out_features]. ``bias_attr=False``: no bias."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.in_features = _count("Linear", "in_features", in_features)
        self.out_features = _count("Linear", "out_features", out_features)
        self.weight = self.create_parameter([in_features, out_features], weight_attr)
        self.bias = self.create_parameter([out_features], bias_attr, is_bias=True)

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self._parameter("weight"), self._parameter("bias"))

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, dtype={self._dtype}"


class Conv2D(Layer):
    """Convolution of images [images, channels, height, width]: see :func:`~minitensor.nn.functional.conv2d`."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        weight_attr: Any = None,
        bias_attr: Any = None,
    ) -> None:
        super().__init__()
        self.in_channels = _count("Conv2D", "in_channels", in_channels)
        self.out_channels = _count("Conv2D", "out_channels", out_channels)
        self.kernel_size = pair("Conv2D", "kernel_size", kernel_size, 1)
        self.settings = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        if in_channels % _count("Conv2D", "groups", groups) or out_channels % groups:
            raise ValueError(f"Conv2D: {in_channels} channels and {out_channels} kernels do not make {groups} groups")
        # Paddle's default, for kernels that a ReLU follows.
        drawn = Normal(0.0, math.sqrt(2 / (in_channels * math.prod(self.kernel_size))))
        shape = [out_channels, in_channels // groups, *self.kernel_size]
        self.weight = self.create_parameter(shape, weight_attr, default_initializer=drawn)
        self.bias = self.create_parameter([out_channels], bias_attr, is_bias=True)

    def forward(self, x: Tensor) -> Tensor:
        return conv2d(x, self._parameter("weight"), self._parameter("bias"), **self.settings)

    def extra_repr(self) -> str:
        told = [f"{name}={value}" for name, value in self.settings.items() if value != (0 if name == "padding" else 1)]
        return ", ".join([f"{self.in_channels}, {self.out_channels}, kernel_size={list(self.kernel_size)}", *told])


class _BatchNorm(Layer):
    """In training each channel gets the mean and variance of the batch away; ``eval()`` uses the running ones."""

    dimensions: int

    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        weight_attr: Any = None,
        bias_attr: Any = None,
    ) -> None:
        super().__init__()
        self.num_features, self.momentum, self.epsilon = num_features, momentum, epsilon
        _count(type(self).__name__, "num_features", num_features)
        self.weight = self.create_parameter([num_features], weight_attr, default_initializer=Constant(1.0))
        self.bias = self.create_parameter([num_features], bias_attr, is_bias=True)
        # Paddle has the running values among the parameters, too: no gradient comes to them.
        for name, value in (("_mean", 0.0), ("_variance", 1.0)):
            running: Any = self.create_parameter([num_features], default_initializer=Constant(value))
            running.stop_gradient = True
            setattr(self, name, running)

    def forward(self, x: Tensor) -> Tensor:
        if isinstance(x, Tensor) and x.ndim != self.dimensions:
            raise ValueError(f"{type(self).__name__}: x has {self.dimensions} dimensions; its shape is {x.shape}")
        return batch_norm(
            x,
            self._mean,
            self._variance,
            self.weight,
            self.bias,
            training=self.training,
            momentum=self.momentum,
            epsilon=self.epsilon,
        )

    def extra_repr(self) -> str:
        return f"num_features={self.num_features}, momentum={self.momentum}, epsilon={self.epsilon}"


class BatchNorm1D(_BatchNorm):
    """Batch normalization of [rows, channels]."""

    dimensions = 2


class BatchNorm2D(_BatchNorm):
    """Batch normalization of [images, channels, height, width]."""

    dimensions = 4


class Flatten(Layer):
    """The dimensions from ``start_axis`` to ``stop_axis`` as one. A view where the memory allows it."""

    def __init__(self, start_axis: int = 1, stop_axis: int = -1) -> None:
        super().__init__()
        self.start_axis, self.stop_axis = start_axis, stop_axis

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(self.start_axis, self.stop_axis)


# ---------- activations ----------


class _Activation(Layer):
    """Calls one operation with settings."""

    operation: str

    def __init__(self, **settings: Any) -> None:
        super().__init__()
        self.settings = settings

    def forward(self, x: Tensor) -> Tensor:
        return FUNCTIONS[self.operation](x, **self.settings)

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.settings.items())


class ReLU(_Activation):
    """``x`` where it is positive, else 0."""

    operation = "relu"

    def __init__(self, name: str | None = None) -> None:
        super().__init__()


class ReLU6(_Activation):
    """``x``, but not below 0 nor above 6."""

    operation = "relu6"

    def __init__(self, name: str | None = None) -> None:
        super().__init__()


class Sigmoid(_Activation):
    """``1 / (1 + exp(-x))``."""

    operation = "sigmoid"

    def __init__(self, name: str | None = None) -> None:
        super().__init__()


class Tanh(_Activation):
    """Hyperbolic tangent."""

    operation = "tanh"

    def __init__(self, name: str | None = None) -> None:
        super().__init__()


class LeakyReLU(_Activation):
    """``x`` where it is positive, else ``negative_slope * x``."""

    operation = "leaky_relu"

    def __init__(self, negative_slope: float = 0.01, name: str | None = None) -> None:
        super().__init__(negative_slope=negative_slope)


class ELU(_Activation):
    """``x`` where it is positive, else ``alpha * (exp(x) - 1)``."""

    operation = "elu"

    def __init__(self, alpha: float = 1.0, name: str | None = None) -> None:
        super().__init__(alpha=alpha)


class Hardtanh(_Activation):
    """``x``, but not below ``min`` nor above ``max``."""

    operation = "hardtanh"

    def __init__(self, min: float = -1.0, max: float = 1.0, name: str | None = None) -> None:
        super().__init__(min=min, max=max)


class ThresholdedReLU(_Activation):
    """``x`` where it is above ``threshold``, else ``value``."""

    operation = "thresholded_relu"

    def __init__(self, threshold: float = 1.0, value: float = 0.0, name: str | None = None) -> None:
        super().__init__(threshold=threshold, value=value)


class Softmax(_Activation):
    """``exp(x)`` over its sum along ``axis``."""

    operation = "softmax"

    def __init__(self, axis: int = -1, name: str | None = None) -> None:
        super().__init__(axis=axis)


# ---------- losses ----------


class CrossEntropyLoss(Layer):
    """See :func:`~minitensor.nn.functional.cross_entropy`."""

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
    """See :func:`~minitensor.nn.functional.mse_loss`."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction

    def forward(self, input: Tensor, label: Tensor) -> Tensor:
        return mse_loss(input, label, self.reduction)


class L1Loss(Layer):
    """See :func:`~minitensor.nn.functional.l1_loss`."""

    def __init__(self, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__()
        self.reduction = reduction

    def forward(self, input: Tensor, label: Tensor) -> Tensor:
        return l1_loss(input, label, self.reduction)
