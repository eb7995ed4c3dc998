"""Layers that normalize, with a trained scale and shift, under Paddle's names."""

from __future__ import annotations

from typing import Any

from minitensor.engine import checks
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.creation.making import as_shape
from minitensor.engine.layers.normalization import batch_norm, group_norm, instance_norm, layer_norm
from minitensor.nn.initializer import Constant
from minitensor.nn.layer import Layer
from minitensor.nn.layers import need_attrs


class _BatchNorm(Layer):
    """Normalize each channel: in training by the mean and variance of the batch, after ``eval()`` by running averages.

    Attributes:
        dimensions: the number of dimensions of an input.
    """

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
        need_attrs(weight_attr, bias_attr)
        op = type(self).__name__
        self.num_features = num_features = checks.integer(op, "num_features", num_features, 1)
        self.momentum, self.epsilon = checks.real(op, "momentum", momentum), checks.real(op, "epsilon", epsilon)
        self.weight = self.create_parameter([num_features], weight_attr, default_initializer=Constant(1.0))
        self.bias = self.create_parameter([num_features], bias_attr, is_bias=True)
        # As in Paddle, the running mean and the running variance are parameters without a gradient.
        for name, value in (("_mean", 0.0), ("_variance", 1.0)):
            running: Any = self.create_parameter([num_features], default_initializer=Constant(value))
            running.stop_gradient = True
            setattr(self, name, running)

    def forward(self, x: Tensor) -> Tensor:
        if isinstance(x, Tensor) and x.ndim != self.dimensions:
            raise ValueError(
                f"{type(self).__name__}: x must have {self.dimensions} dimensions, but its shape is {x.shape}"
            )
        options: dict[str, Any] = {"training": self.training, "momentum": self.momentum, "epsilon": self.epsilon}
        return batch_norm(x, self._mean, self._variance, self.weight, self.bias, **options)

    def extra_repr(self) -> str:
        return f"num_features={self.num_features}, momentum={self.momentum}, epsilon={self.epsilon}"


@checks.with_own_methods
class BatchNorm1D(_BatchNorm):
    """Batch normalization of [rows, num_features]: see :func:`~minitensor.nn.functional.batch_norm`.

    Raises:
        ValueError: if ``num_features`` is below 1, or ``x`` has another shape.
        TypeError: if the input is not a tensor of floats.
    """

    dimensions = 2


@checks.with_own_methods
class BatchNorm2D(_BatchNorm):
    """Batch normalization of [images, num_features, height, width]: see :func:`~minitensor.nn.functional.batch_norm`.

    Raises:
        ValueError: if ``num_features`` is below 1, or ``x`` has another shape.
        TypeError: if the input is not a tensor of floats.
    """

    dimensions = 4


class LayerNorm(Layer):
    """Normalize each example over its last dimensions: see :func:`~minitensor.nn.functional.layer_norm`.

    Args:
        normalized_shape: the lengths of the last dimensions of ``x`` as a list, or the length of the last dimension as
            an integer; ``weight`` and ``bias`` have this shape.

    Raises:
        ValueError: if ``x`` does not end in these dimensions.
        TypeError: if ``normalized_shape`` is not a shape, or ``x`` is not a tensor of floats.
    """

    def __init__(
        self, normalized_shape: Any, epsilon: float = 1e-5, weight_attr: Any = None, bias_attr: Any = None
    ) -> None:
        super().__init__()
        need_attrs(weight_attr, bias_attr)
        self.shape = list(as_shape("LayerNorm", normalized_shape))
        self.epsilon = checks.real("LayerNorm", "epsilon", epsilon)
        self.weight = self.create_parameter(self.shape, weight_attr, default_initializer=Constant(1.0))
        self.bias = self.create_parameter(self.shape, bias_attr, is_bias=True)

    def forward(self, x: Tensor) -> Tensor:
        return layer_norm(x, self.shape, self.weight, self.bias, self.epsilon)

    def extra_repr(self) -> str:
        return f"normalized_shape={self.shape}, epsilon={self.epsilon}"


class GroupNorm(Layer):
    """Normalize groups of channels of [images, num_channels, ...]: see :func:`~minitensor.nn.functional.group_norm`.

    Raises:
        ValueError: if the channels cannot be divided into ``num_groups`` groups, or ``x`` has another shape.
        TypeError: if the input is not a tensor of floats.
    """

    def __init__(
        self, num_groups: int, num_channels: int, epsilon: float = 1e-5, weight_attr: Any = None, bias_attr: Any = None
    ) -> None:
        super().__init__()
        need_attrs(weight_attr, bias_attr)
        num_channels = checks.integer("GroupNorm", "num_channels", num_channels, 1)
        num_groups = checks.integer("GroupNorm", "num_groups", num_groups, 1)
        if num_channels % num_groups:
            raise ValueError(
                f"GroupNorm: num_channels must be a multiple of num_groups, but they are {num_channels} and "
                f"{num_groups}"
            )
        self.num_groups, self.num_channels = num_groups, num_channels
        self.epsilon = checks.real("GroupNorm", "epsilon", epsilon)
        self.weight = self.create_parameter([num_channels], weight_attr, default_initializer=Constant(1.0))
        self.bias = self.create_parameter([num_channels], bias_attr, is_bias=True)

    def forward(self, x: Tensor) -> Tensor:
        return group_norm(x, self.num_groups, self.epsilon, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"num_groups={self.num_groups}, num_channels={self.num_channels}, epsilon={self.epsilon}"


class InstanceNorm2D(Layer):
    """Normalize each channel of each image in [images, num_features, height, width]: see
    :func:`~minitensor.nn.functional.instance_norm`.

    Raises:
        ValueError: if ``num_features`` is below 1, or ``x`` has another shape.
        TypeError: if the input is not a tensor of floats.
    """

    def __init__(
        self,
        num_features: int,
        epsilon: float = 1e-5,
        momentum: float = 0.9,
        weight_attr: Any = None,
        bias_attr: Any = None,
    ) -> None:
        super().__init__()
        need_attrs(weight_attr, bias_attr)
        self.num_features = num_features = checks.integer("InstanceNorm2D", "num_features", num_features, 1)
        self.epsilon = checks.real("InstanceNorm2D", "epsilon", epsilon)
        self.scale = self.create_parameter([num_features], weight_attr, default_initializer=Constant(1.0))
        self.bias = self.create_parameter([num_features], bias_attr, is_bias=True)

    def forward(self, x: Tensor) -> Tensor:
        if isinstance(x, Tensor) and (x.ndim != 4 or x.shape[1] != self.num_features):
            raise ValueError(
                f"InstanceNorm2D: x must be [images, {self.num_features}, height, width], but its shape is {x.shape}"
            )
        return instance_norm(x, weight=self.scale, bias=self.bias, eps=self.epsilon)

    def extra_repr(self) -> str:
        return f"num_features={self.num_features}, epsilon={self.epsilon}"
