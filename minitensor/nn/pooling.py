"""Pooling layers, under Paddle's names."""

from __future__ import annotations

from typing import Any

from minitensor.engine import checks
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.layers.pooling import adaptive_avg_pool2d, avg_pool2d, max_pool2d
from minitensor.nn.layer import Layer


class _Pool2D(Layer):
    """Base class of pooling over windows of ``kernel_size``; ``stride`` is by default ``kernel_size``."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, name: str | None = None) -> None:
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


@checks.with_own_methods
class MaxPool2D(_Pool2D):
    """Return the maximum of each window of [images, channels, height, width]: see
    :func:`~minitensor.nn.functional.max_pool2d`.

    Raises:
        ValueError: on a call, if the images have another shape, if no window fits into them, or if the padding is more
            than half of the window.
        TypeError: if the input is not a tensor of floats.
    """

    def forward(self, x: Tensor) -> Tensor:
        return max_pool2d(x, self.kernel_size, self.stride, self.padding)


class AvgPool2D(_Pool2D):
    """Return the mean of each window of [images, channels, height, width]: see
    :func:`~minitensor.nn.functional.avg_pool2d`.

    Raises:
        ValueError: on a call, if the images have another shape, if no window fits into them, or if the padding is more
            than half of the window.
        TypeError: if the input is not a tensor of floats.
    """

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, exclusive: bool = True, name: str | None = None
    ) -> None:
        super().__init__(kernel_size, stride, padding)
        self.exclusive = exclusive

    def forward(self, x: Tensor) -> Tensor:
        return avg_pool2d(x, self.kernel_size, self.stride, self.padding, self.exclusive)


class AdaptiveAvgPool2D(Layer):
    """Divide each channel of each image into ``output_size`` parts, and return the mean of each part: see
    :func:`~minitensor.nn.functional.adaptive_avg_pool2d`. The images have the shape [images, channels, height, width].

    Raises:
        ValueError: on a call, if the images have another shape or ``output_size`` is below 1.
        TypeError: if the input is not a tensor of floats.
    """

    def __init__(self, output_size: Any, name: str | None = None) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, x: Tensor) -> Tensor:
        return adaptive_avg_pool2d(x, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"
