"""Layers under Paddle's names: each has parameters or settings and calls a function of ``nn.functional``.

Activations and losses have no parameters; :mod:`minitensor.engine.layers.declared` declares them. An activation with
``inplace=True``, an argument that Paddle's layers lack, overwrites its input and returns it, as ``relu_`` does.
"""

from __future__ import annotations

import math
from typing import Any

from minitensor.engine import checks
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.creation.making import as_lengths
from minitensor.engine.layers.convolution import conv2d, pair
from minitensor.engine.layers.declared import PADDLE, classes
from minitensor.engine.layers.linear import linear
from minitensor.engine.operations.arguments import need_tensor
from minitensor.engine.views.reshaping import unflatten
from minitensor.nn import functional as F
from minitensor.nn.initializer import Normal
from minitensor.nn.layer import Layer
from minitensor.nn.parameter import as_attr


def need_attrs(*attributes: Any) -> None:
    """Raise TypeError unless every argument is a ParamAttr, an initializer, a name, a bool or None.

    A layer calls this function before it draws random numbers.
    """
    for each in attributes:
        if each is not False:
            as_attr(each)


class Linear(Layer):
    """Return ``x @ weight + bias``, or ``x @ weight`` if ``bias_attr`` is False.

    ``x`` has the shape [..., in_features], ``weight`` [in_features, out_features], and the result [..., out_features].

    Args:
        in_features, out_features: integers, 1 or more.

    Raises:
        ValueError: if a size is below 1, or ``x`` has another shape.
        TypeError: if a size is not an integer, or ``x`` is not a tensor of floats.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        need_attrs(weight_attr, bias_attr)
        self.in_features = in_features = checks.integer("Linear", "in_features", in_features, 1)
        self.out_features = out_features = checks.integer("Linear", "out_features", out_features, 1)
        self.weight = self.create_parameter([in_features, out_features], weight_attr)
        self.bias = self.create_parameter([out_features], bias_attr, is_bias=True)

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self._parameter("weight"), self._parameter("bias"))

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, dtype={self._dtype}"


class Conv2D(Layer):
    """Convolution of images [images, in_channels, height, width]: see :func:`~minitensor.nn.functional.conv2d`.

    The result has the shape [images, out_channels, rows, columns]. The shape of ``weight`` is [out_channels,
    in_channels / groups, *kernel_size], and that of ``bias`` is [out_channels].

    Raises:
        ValueError: if a size is below 1, if the channels cannot be divided into ``groups``, or if the images have
            another shape.
        TypeError: if a size is not an integer, or ``x`` is not a tensor of floats.
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
        weight_attr: Any = None,
        bias_attr: Any = None,
    ) -> None:
        super().__init__()
        need_attrs(weight_attr, bias_attr)
        self.in_channels = in_channels = checks.integer("Conv2D", "in_channels", in_channels, 1)
        self.out_channels = out_channels = checks.integer("Conv2D", "out_channels", out_channels, 1)
        self.kernel_size = pair("Conv2D", "kernel_size", kernel_size, 1)
        groups = checks.integer("Conv2D", "groups", groups, 1)
        for name, given, least in (("stride", stride, 1), ("padding", padding, 0), ("dilation", dilation, 1)):
            pair("Conv2D", name, given, least)
        self.settings = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        if in_channels % groups or out_channels % groups:
            raise ValueError(
                f"Conv2D: in_channels and out_channels must be multiples of groups, but they are {in_channels} and "
                f"{out_channels}, and groups is {groups}"
            )
        # Paddle's default assumes that a ReLU follows.
        normal = Normal(0.0, math.sqrt(2 / (in_channels * math.prod(self.kernel_size))))
        shape = [out_channels, in_channels // groups, *self.kernel_size]
        self.weight = self.create_parameter(shape, weight_attr, default_initializer=normal)
        self.bias = self.create_parameter([out_channels], bias_attr, is_bias=True)

    def forward(self, x: Tensor) -> Tensor:
        return conv2d(x, self._parameter("weight"), self._parameter("bias"), **self.settings)

    def extra_repr(self) -> str:
        more = [f"{name}={value}" for name, value in self.settings.items() if value != (0 if name == "padding" else 1)]
        return ", ".join([f"{self.in_channels}, {self.out_channels}, kernel_size={list(self.kernel_size)}", *more])


class Flatten(Layer):
    """Merge the dimensions from ``start_axis`` to ``stop_axis`` into one, as a view if the memory allows it.

    By default an input of shape [2, 3, 4] becomes [2, 12].

    Raises:
        IndexError: if ``x`` does not have such an axis.
        ValueError: if ``start_axis`` comes after ``stop_axis``.
    """

    def __init__(self, start_axis: int = 1, stop_axis: int = -1) -> None:
        super().__init__()
        self.start_axis = checks.integer("Flatten", "start_axis", start_axis)
        self.stop_axis = checks.integer("Flatten", "stop_axis", stop_axis)

    def forward(self, x: Tensor) -> Tensor:
        need_tensor("Flatten", x)
        return x.flatten(self.start_axis, self.stop_axis)


class Unflatten(Layer):
    """Split the dimension ``axis`` into several, as a view: see :func:`~minitensor.unflatten`.

    With ``Unflatten(1, [3, 4])`` an input of shape [2, 12] becomes [2, 3, 4].

    Raises:
        IndexError: on a call, if ``x`` does not have such an axis.
        ValueError: on a call, if the product of the lengths is not the length of the dimension.
    """

    def __init__(self, axis: int, shape: Any, name: str | None = None) -> None:
        super().__init__()
        self.axis, self.shape = checks.integer("Unflatten", "axis", axis), as_lengths("Unflatten", shape)

    def forward(self, x: Tensor) -> Tensor:
        return unflatten(x, self.axis, self.shape)

    def extra_repr(self) -> str:
        return f"axis={self.axis}, shape={self.shape}"


class Identity(Layer):
    """Return the input itself, of any shape. The arguments of the constructor have no effect."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Dropout(Layer):
    """In training, set elements to 0 with probability ``p`` and divide the others by ``1 - p``.

    The result has the shape of the input.

    Raises:
        ValueError: if ``p`` is not a probability; if ``inplace`` is true and ``x`` is a leaf that needs a gradient, in
            grad mode.
        TypeError: if the input is not a tensor of floats, or ``p`` is not a number.
    """

    def __init__(self, p: float = 0.5, name: str | None = None, inplace: bool = False) -> None:
        super().__init__()
        self.p, self.inplace = checks.probability("Dropout", "p", p), checks.flag("Dropout", "inplace", inplace)

    def forward(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}" + (", inplace=True" if self.inplace else "")


class Dropout2D(Layer):
    """Set whole channels to 0 with probability ``p`` in training: see :func:`~minitensor.nn.functional.dropout2d`.

    The input and the result have the shape [images, channels, height, width], or with ``data_format="NHWC"`` [images,
    height, width, channels].

    Raises:
        ValueError: if ``p`` is not a probability, if ``data_format`` is unknown, or if the input has another shape.
        TypeError: if the input is not a tensor of floats, or ``p`` is not a number.
    """

    def __init__(self, p: float = 0.5, data_format: str = "NCHW", name: str | None = None) -> None:
        super().__init__()
        self.p, self.data_format = checks.probability("Dropout2D", "p", p), data_format
        checks.choice("Dropout2D", "data_format", data_format, ("NCHW", "NHWC"))

    def forward(self, x: Tensor) -> Tensor:
        return F.dropout2d(x, self.p, self.training, self.data_format)

    def extra_repr(self) -> str:
        return f"p={self.p}, data_format={self.data_format}"


#: The activations and losses, keyed by name.
DECLARED = classes(PADDLE, __name__, Layer, Tensor, F)
globals().update(DECLARED)
