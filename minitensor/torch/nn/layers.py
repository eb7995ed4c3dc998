"""Modules that networks are built of. Parameters begin as PyTorch's do, random numbers included."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from minitensor.engine.layers.declared import TORCH, classes
from minitensor.torch.creation import empty
from minitensor.torch.nn import functional as F
from minitensor.torch.nn import init
from minitensor.torch.nn.module import Module
from minitensor.torch.nn.parameter import Parameter
from minitensor.torch.tensor import Tensor


class Linear(Module):
    """``y = x @ weight.T + bias``; ``weight`` has shape [out_features, in_features].

    From [..., in_features] to [..., out_features].

    Raises:
        RuntimeError: if a size is negative, the dtype is not a floating-point one, or the input has another shape or
            dtype.
        TypeError: if ``input`` is no tensor.
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(empty((out_features, in_features), device=device, dtype=dtype))
        self.bias = Parameter(empty(out_features, device=device, dtype=dtype)) if bias else None
        if not bias:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        """The products."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Identity(Module):
    """The input itself, of any shape. Nothing is refused."""

    def forward(self, input: Tensor) -> Tensor:
        """The input itself."""
        return input


class Flatten(Module):
    """The dimensions from ``start_dim`` to ``end_dim`` as one.

    From [2, 3, 4] to [2, 12], as ``torch.flatten`` does it.

    Raises:
        IndexError: if ``input`` has no such dimension.
        RuntimeError: if ``start_dim`` comes after ``end_dim``.
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        """The flattened input."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """The dimensions."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Dropout(Module):
    """In training, 0 with probability ``p``, and what is left divided by ``1 - p``: see ``functional.dropout``.

    Takes a tensor of any shape; the result has that shape.

    Raises:
        ValueError: if ``p`` is no probability.
        RuntimeError: if ``inplace`` is true and the input is a leaf that requires grad, in grad mode.
    """

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        """The result."""
        return F.dropout(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        """The probability, and whether it writes."""
        return f"p={self.p}, inplace={self.inplace}"


class Sequential(Module):
    """Modules one behind the other.

    Shapes are those of the modules.

    Raises:
        IndexError: if there is nothing at a position.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        given = args[0].items() if len(args) == 1 and isinstance(args[0], OrderedDict) else enumerate(args)
        for name, module in given:
            self.add_module(str(name), module)

    def forward(self, input: Any) -> Any:
        """What the last one gives."""
        for module in self._modules.values():
            input = module(input)
        return input

    def __getitem__(self, index: Any) -> Any:
        modules = list(self._modules.values())
        return Sequential(*modules[index]) if isinstance(index, slice) else modules[index]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def append(self, module: Module) -> Sequential:
        """One module more, at the end."""
        self.add_module(str(len(self)), module)
        return self


class ModuleList(Module):
    """A list of modules that are registered; a loop over it says what happens.

    Raises:
        IndexError: if there is nothing at a position.
        NotImplementedError: on a call.
    """

    def __init__(self, modules: Any = ()) -> None:
        super().__init__()
        for module in modules:
            self.append(module)

    def append(self, module: Module) -> ModuleList:
        """One module more, at the end."""
        self.add_module(str(len(self._modules)), module)
        return self

    def __getitem__(self, index: Any) -> Any:
        modules = list(self._modules.values())
        return ModuleList(modules[index]) if isinstance(index, slice) else modules[index]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())


#: Activations and losses by name.
DECLARED = classes(TORCH, __name__, Module, Tensor, F)
globals().update(DECLARED)
