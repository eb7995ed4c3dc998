"""Activations as modules: each calls the function of its name."""

from __future__ import annotations

from minitensor.torch.nn import functional as F
from minitensor.torch.nn.module import Module
from minitensor.torch.tensor import Tensor


class ReLU(Module):
    """The input where it is positive, else 0; with ``inplace=True`` written into the input.

    Takes a tensor of any shape; the result has that shape.

    Raises:
        RuntimeError: with ``inplace``, for a leaf that requires grad, in grad mode.
        TypeError: when ``input`` is no tensor.
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The result."""
        return F.relu(input, inplace=self.inplace)

    def extra_repr(self) -> str:
        """Whether it writes."""
        return "inplace=True" if self.inplace else ""


class ReLU6(ReLU):
    """The input between 0 and 6.

    Takes a tensor of any shape; the result has that shape.

    Raises:
        RuntimeError: with ``inplace``, for a leaf that requires grad, in grad mode.
        TypeError: when ``input`` is no tensor.
    """

    def forward(self, input: Tensor) -> Tensor:
        """The result."""
        return F.relu6(input, inplace=self.inplace)


class LeakyReLU(Module):
    """The input where it is positive, else ``negative_slope`` times the input.

    Takes a tensor of any shape; the result has that shape.

    Raises:
        RuntimeError: with ``inplace``, for a leaf that requires grad, in grad mode.
        RuntimeError: when it is called and ``negative_slope`` is negative.
        TypeError: when ``input`` is no tensor.
    """

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope, self.inplace = negative_slope, inplace

    def forward(self, input: Tensor) -> Tensor:
        """The result."""
        return F.leaky_relu(input, self.negative_slope, inplace=self.inplace)

    def extra_repr(self) -> str:
        """The slope, and whether it writes."""
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class ELU(Module):
    """The input where it is positive, else ``alpha * (exp(x) - 1)``.

    Takes a tensor of any shape; the result has that shape.

    Raises:
        RuntimeError: with ``inplace``, for a leaf that requires grad, in grad mode.
        RuntimeError: when it is called and ``alpha`` is negative.
        TypeError: when ``input`` is no tensor.
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input: Tensor) -> Tensor:
        """The result."""
        return F.elu(input, self.alpha, inplace=self.inplace)

    def extra_repr(self) -> str:
        """Alpha, and whether it writes."""
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class Sigmoid(Module):
    """``1 / (1 + exp(-x))``.

    Takes a tensor of any shape; the result has that shape.

    Raises:
        TypeError: when ``input`` is no tensor.
    """

    def forward(self, input: Tensor) -> Tensor:
        """The result."""
        return F.sigmoid(input)


class Tanh(Module):
    """Hyperbolic tangent.

    Takes a tensor of any shape; the result has that shape.

    Raises:
        TypeError: when ``input`` is no tensor.
    """

    def forward(self, input: Tensor) -> Tensor:
        """The result."""
        return F.tanh(input)


class Softmax(Module):
    """Exponentials over their sum along ``dim``.

    Takes a tensor of any shape; the result has that shape.

    Raises:
        IndexError: for a dimension that ``input`` does not have.
        TypeError: when ``input`` is no tensor.
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """The result."""
        return F.softmax(input, self.dim)

    def extra_repr(self) -> str:
        """The dimension."""
        return f"dim={self.dim}"


class Hardtanh(Module):
    """The input between ``min_val`` and ``max_val``.

    Takes a tensor of any shape; the result has that shape.

    Raises:
        RuntimeError: with ``inplace``, for a leaf that requires grad, in grad mode.
        RuntimeError: when it is called and ``min_val`` is above ``max_val``.
        TypeError: when ``input`` is no tensor.
    """

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.min_val, self.max_val, self.inplace = min_val, max_val, inplace

    def forward(self, input: Tensor) -> Tensor:
        """The result."""
        return F.hardtanh(input, self.min_val, self.max_val, inplace=self.inplace)

    def extra_repr(self) -> str:
        """The bounds, and whether it writes."""
        return f"min_val={self.min_val}, max_val={self.max_val}" + (", inplace=True" if self.inplace else "")


class SiLU(Module):
    """``x * sigmoid(x)``.

    Takes a tensor of any shape; the result has that shape.

    Raises:
        RuntimeError: with ``inplace``, for a leaf that requires grad, in grad mode.
        TypeError: for anything but a tensor of floats.
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The result."""
        return F.silu(input, inplace=self.inplace)

    def extra_repr(self) -> str:
        """Whether it writes."""
        return "inplace=True" if self.inplace else ""


class GELU(Module):
    """The input times the probability that a standard normal number is below it: see ``functional.gelu``.

    Takes a tensor of any shape; the result has that shape.

    Raises:
        RuntimeError: when it is called and ``approximate`` is neither "none" nor "tanh".
        TypeError: for anything but a tensor of floats.
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """The result."""
        return F.gelu(input, self.approximate)

    def extra_repr(self) -> str:
        """How it is computed."""
        return f"approximate={self.approximate!r}"


class LogSoftmax(Module):
    """The logarithm of softmax along ``dim``.

    Takes a tensor of any shape; the result has that shape.

    Raises:
        IndexError: for a dimension that ``input`` does not have.
        TypeError: when ``input`` is no tensor.
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """The result."""
        return F.log_softmax(input, self.dim)

    def extra_repr(self) -> str:
        """The dimension."""
        return f"dim={self.dim}"
