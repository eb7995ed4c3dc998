"""Modules for networks. Their parameters start with the same random numbers as PyTorch's.

Most activations and losses have no parameters: :mod:`minitensor.engine.layers.declared` declares them for both
frameworks. The other modules resemble Paddle's layers, but have other arguments, errors and printed texts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from minitensor.engine import checks
from minitensor.engine.layers.declared import TORCH, classes
from minitensor.torch.arguments import dropout_probability, need_ints, need_tensor
from minitensor.torch.creation import empty
from minitensor.torch.nn import functional as F
from minitensor.torch.nn import init
from minitensor.torch.nn.module import Module
from minitensor.torch.nn.parameter import Parameter
from minitensor.torch.tensor import Tensor


class _Weighted(Module):
    """Base class of modules with a weight and a bias, which start with the same random numbers as PyTorch's."""

    def _create_parameters(self, shape: tuple[int, ...], bias: bool, device: Any, dtype: Any) -> None:
        self.weight = Parameter(empty(shape, device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(shape[0], device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters again."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            inputs = math.prod(self.weight.shape[1:])
            bound = 1 / math.sqrt(inputs) if inputs > 0 else 0
            init.uniform_(self.bias, -bound, bound)


class Linear(_Weighted):
    """Return ``x @ weight.T + bias``; ``weight`` has shape [out_features, in_features].

    The input has the shape [..., in_features], the result [..., out_features].

    Raises:
        RuntimeError: if a size is negative, the dtype is not a floating-point one, or the input has another shape or
            dtype.
        TypeError: if ``input`` is not a tensor.
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        bias = checks.flag("Linear()", "bias", bias)
        in_features = checks.integer("Linear()", "in_features", in_features)
        out_features = checks.integer("Linear()", "out_features", out_features)
        self.in_features, self.out_features = in_features, out_features
        self._create_parameters((out_features, in_features), bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Identity(Module):
    """Return the input itself, of any shape. The arguments of the constructor have no effect."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Flatten(Module):
    """Merge the dimensions from ``start_dim`` to ``end_dim`` into one.

    By default an input of shape [2, 3, 4] becomes [2, 12]: see ``torch.flatten``.

    Raises:
        IndexError: if ``input`` has no such dimension.
        RuntimeError: if ``start_dim`` comes after ``end_dim``.
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = checks.integer("Flatten()", "start_dim", start_dim)
        self.end_dim = checks.integer("Flatten()", "end_dim", end_dim)

    def forward(self, input: Tensor) -> Tensor:
        need_tensor("flatten", input)
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Split the dimension ``dim`` into several, as a view: see ``torch.unflatten``.

    With ``Unflatten(1, (3, 4))`` an input of shape [2, 12] becomes [2, 3, 4].

    Raises:
        IndexError: on a call, if ``input`` has no such dimension.
        RuntimeError: on a call, if the product of the sizes is not the length of ``dim``.
    """

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        self.dim = checks.integer("Unflatten()", "dim", dim)
        need_ints("Unflatten", "unflattened_size", unflattened_size, 2)
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        need_tensor("unflatten", input)
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class _Dropping(Module):
    """Base class of modules that drop elements in training."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        name = type(self).__name__
        self.p, self.inplace = dropout_probability(name, "p", p), checks.flag(f"{name}()", "inplace", inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


@checks.with_own_methods
class Dropout(_Dropping):
    """In training, set elements to 0 with probability ``p`` and divide the others by ``1 - p``: see
    ``functional.dropout``.

    The input may have any shape; the result has the same shape.

    Raises:
        ValueError: if ``p`` is not a probability.
        RuntimeError: if ``inplace`` is true and the input is a leaf that requires grad, or a view of such a leaf, in
            grad mode.
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


@checks.with_own_methods
class Dropout2d(_Dropping):
    """In training, set whole channels to 0 with probability ``p`` and divide the others by ``1 - p``: see
    ``functional.dropout2d``.

    The input and the result have the shape [images, channels, height, width].

    Raises:
        ValueError: if ``p`` is not a probability.
        RuntimeError: if ``inplace`` is true and the input is a leaf that requires grad, or a view of such a leaf, in
            grad mode.
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


#: The activations and losses, keyed by name.
DECLARED = classes(TORCH, __name__, Module, Tensor, F)
globals().update(DECLARED)
