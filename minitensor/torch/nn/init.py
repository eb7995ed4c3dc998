"""``torch.nn.init``: fill parameters with the same random numbers as PyTorch. Autograd records none of these writes."""

from __future__ import annotations

import math
from typing import Any

from minitensor.engine import checks
from minitensor.engine.device.arrays import host_array
from minitensor.engine.dtypes import FLOATS
from minitensor.engine.kernels.random import truncated_normal
from minitensor.torch.arguments import need_tensor
from minitensor.torch.autograd import no_grad
from minitensor.torch.errors import missing_in, warn
from minitensor.torch.tensor import Tensor, as_torch

_GAINS = {"linear": 1.0, "sigmoid": 1.0, "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 0.75}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the factor for the standard deviation of a layer's weights if ``nonlinearity`` follows the layer.

    The factor compensates for the variance that is lost in the nonlinearity.

    Raises:
        ValueError: if the nonlinearity is unknown.
    """
    if isinstance(nonlinearity, str) and nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else checks.real("calculate_gain()", "param", param)
        return math.sqrt(2.0) / math.hypot(1, slope)
    if not isinstance(nonlinearity, str) or nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {checks.shown(nonlinearity)}")
    return _GAINS[nonlinearity]


def _fan_in_and_out(op: str, tensor: Tensor) -> tuple[int, int]:
    need_tensor(op, tensor, name="tensor")
    if tensor._array.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    shape = tensor._array.shape
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def _fan(op: str, tensor: Tensor, mode: str) -> int:
    modes = ["fan_in", "fan_out"]
    if not isinstance(mode, str) or mode not in modes:
        raise ValueError(f"Mode {checks.shown(mode)} not supported, please use one of {modes}")
    fan = _fan_in_and_out(op, tensor)[modes.index(mode)]
    if not fan:
        raise ValueError(f"{op}(): a tensor of shape {list(tensor._array.shape)} has no {mode}")
    return fan


def _xavier(op: str, tensor: Tensor, gain: float) -> float:
    """Return the standard deviation of weights with which a layer preserves the variance in forward and backward."""
    gain, fans = checks.real(f"{op}()", "gain", gain), _fan_in_and_out(op, tensor)
    if not sum(fans):
        raise ValueError(f"{op}(): a tensor of shape {list(tensor._array.shape)} has neither inputs nor outputs")
    return gain * math.sqrt(2.0 / sum(fans))


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fill a tensor of any shape with numbers drawn uniformly from ``a`` to ``b``, and return it.

    Raises:
        TypeError: if the tensor holds integers.
        RuntimeError: if ``a`` is above ``b``.
    """
    need_tensor("uniform_", tensor, name="tensor")
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fill a tensor of any shape with numbers from the normal distribution, and return it.

    Raises:
        TypeError: if the tensor holds integers.
        RuntimeError: if the standard deviation is negative.
    """
    need_tensor("normal_", tensor, name="tensor")
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Tensor:
    """Fill a tensor of any shape with numbers from the normal distribution truncated to the range from ``a`` to ``b``,
    and return it.

    Raises:
        TypeError: if the tensor holds integers.
        ValueError: if the standard deviation is not above 0.
    """
    need_tensor("trunc_normal_", tensor)
    mean, std, a, b = (
        checks.real("trunc_normal_()", name, given)
        for name, given in (("mean", mean), ("std", std), ("a", a), ("b", b))
    )
    if tensor._array.dtype not in FLOATS:
        raise TypeError(f"trunc_normal_(): tensor must hold floats, not {tensor.dtype}")
    if not std > 0:
        raise ValueError(f"trunc_normal_(): std must be above 0, not {std}")
    if mean < a - 2 * std or mean > b + 2 * std:
        warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect."
        )
    with no_grad():
        chances = host_array(as_torch(tensor).uniform_(0.0, 1.0, generator=generator)._array)
        return Tensor.copy_(tensor, as_torch(tensor).new_tensor(truncated_normal(chances, mean, std, a, b)))


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix of shape [n, m] with the identity, and return it.

    Raises:
        ValueError: if the tensor has another number of dimensions.
    """
    need_tensor("eye_", tensor)
    if tensor._array.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with no_grad():
        return tensor.zero_().fill_diagonal_(1)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill a tensor of any shape with ``val``, and return it.

    Raises:
        TypeError: if ``tensor`` is not a tensor, or ``val`` is not a number.
    """
    need_tensor("constant_", tensor, name="tensor")
    with no_grad():
        return tensor.fill_(val)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill a tensor of any shape with 0, and return it.

    Raises:
        TypeError: if ``tensor`` is not a tensor.
    """
    return constant_(tensor, 0.0)


def ones_(tensor: Tensor) -> Tensor:
    """Fill a tensor of any shape with 1, and return it.

    Raises:
        TypeError: if ``tensor`` is not a tensor.
    """
    return constant_(tensor, 1.0)


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Fill a tensor of shape [out, in, ...] with uniform numbers and return it. A layer with these weights, followed by
    ``nonlinearity``, preserves the variance (He et al. 2015).

    Raises:
        ValueError: if the tensor has fewer than two dimensions, or if ``mode`` or ``nonlinearity`` is unknown.
    """
    fan = _fan("kaiming_uniform_", tensor, mode)
    bound = math.sqrt(3.0) * (calculate_gain(nonlinearity, a) / math.sqrt(fan))
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Fill a tensor of shape [out, in, ...] with normal numbers and return it. A layer with these weights, followed by
    ``nonlinearity``, preserves the variance (He et al. 2015).

    Raises:
        ValueError: if the tensor has fewer than two dimensions, or if ``mode`` or ``nonlinearity`` is unknown.
    """
    fan = _fan("kaiming_normal_", tensor, mode)
    return normal_(tensor, 0, calculate_gain(nonlinearity, a) / math.sqrt(fan), generator)


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill a tensor of shape [out, in, ...] with uniform numbers and return it. A layer with these weights preserves
    the variance in forward and backward (Glorot and Bengio 2010).

    Raises:
        ValueError: if the tensor has fewer than two dimensions.
    """
    bound = math.sqrt(3.0) * _xavier("xavier_uniform_", tensor, gain)
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill a tensor of shape [out, in, ...] with normal numbers and return it. A layer with these weights preserves the
    variance in forward and backward (Glorot and Bengio 2010).

    Raises:
        ValueError: if the tensor has fewer than two dimensions.
    """
    return normal_(tensor, 0.0, _xavier("xavier_normal_", tensor, gain), generator)


__all__ = [name for name in globals() if name.endswith("_") and not name.startswith("_")] + ["calculate_gain"]

__getattr__ = missing_in("torch.nn.init", lambda: __all__)
