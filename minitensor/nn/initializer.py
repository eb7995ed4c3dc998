"""Initializers under Paddle's names: they create the initial numbers of parameters.

Random numbers are drawn on the host, by the generator that ``minitensor.seed`` seeds. An initializer that is called
with a tensor writes the numbers into the tensor with ``set_value``, in one versioned write.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.checks import shown
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.creation.from_data import array_of
from minitensor.engine.creation.making import as_shape, float_dtype
from minitensor.engine.kernels import random
from minitensor.engine.operations.arguments import need_tensor


class Initializer:
    """Base class of initializers. Subclasses define ``drawn``, which returns an array of a given shape.

    Raises:
        TypeError: on a call, if the argument is not a tensor.
    """

    def drawn(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """Return the initial numbers of a parameter as a new array of ``shape`` and ``dtype`` on the host."""
        raise checks.undefined(self, "drawn")

    def __call__(self, param: Tensor) -> Tensor:
        need_tensor(type(self).__name__, param)
        Tensor.set_value(param, self.drawn(param._array.shape, param._array.dtype))
        return param


class Constant(Initializer):
    """Set every element of the parameter, which may have any shape, to ``value``."""

    def __init__(self, value: float = 0.0) -> None:
        self.value = checks.real("Constant", "value", value)

    def drawn(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        shape, dtype = _drawable("Constant", shape, dtype)
        return np.full(shape, self.value, dtype)


class Assign(Initializer):
    """Copy the numbers of an array, a list or a tensor that has the shape of the parameter.

    Raises:
        ValueError: on a call, if the parameter has another shape.
    """

    def __init__(self, value: Any) -> None:
        self.value = array_of(value, None, "Assign")

    def drawn(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        shape, dtype = _drawable("Assign", shape, dtype)
        if self.value.shape != shape:
            raise ValueError(
                f"Assign: the value must have the shape {list(shape)} of the parameter, not {list(self.value.shape)}"
            )
        return self.value.astype(dtype)


class Uniform(Initializer):
    """Draw numbers uniformly between ``low`` and ``high``, in the shape of the parameter.

    Raises:
        ValueError: if ``low`` is above ``high``.
        TypeError: if an argument is not a number.
    """

    def __init__(self, low: float = -1.0, high: float = 1.0) -> None:
        self.low, self.high, _ = random.uniform_arguments(low, high, 0)

    def drawn(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        out = np.empty(*_drawable("Uniform", shape, dtype))
        return random.uniform(out, self.low, self.high, 0, out)


class Normal(Initializer):
    """Draw normal numbers of mean ``mean`` and standard deviation ``std``, in the shape of the parameter.

    Raises:
        ValueError: if the standard deviation is negative.
        TypeError: if an argument is not a number.
    """

    def __init__(self, mean: float = 0.0, std: float = 1.0) -> None:
        self.mean, self.std = random.normal_arguments(mean, std)

    def drawn(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        out = np.empty(*_drawable("Normal", shape, dtype))
        return random.normal(out, self.mean, self.std, out)


def _drawable(op: str, shape: Any, dtype: Any) -> tuple[tuple[int, ...], np.dtype]:
    """Return ``shape`` as a tuple of lengths, and ``dtype`` as a numpy dtype, which must be a floating-point one."""
    return as_shape(op, shape), float_dtype(op, dtype)


def _fan(op: str, name: str, given: Any) -> Any:
    """Return ``given``, a number above 0 or None; raise TypeError or ValueError if it is anything else."""
    return None if given is None else checks.real(op, name, given, above=0)


class TruncatedNormal(Initializer):
    """Draw normal numbers between ``mean + a * std`` and ``mean + b * std``, in the shape of the parameter.

    Raises:
        ValueError: if the standard deviation is not above 0, or ``a`` is not below ``b``.
        TypeError: if an argument is not a number.
    """

    def __init__(self, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0) -> None:
        self.mean, self.std = random.normal_arguments(mean, std)
        if not self.std > 0:
            raise ValueError(f"TruncatedNormal: std must be above 0, not {shown(std)}")
        a, b = checks.real("TruncatedNormal", "a", a), checks.real("TruncatedNormal", "b", b)
        if not a < b:
            raise ValueError(f"TruncatedNormal: a must be below b, but they are {shown(a)} and {shown(b)}")
        self.a, self.b = float(a), float(b)

    def drawn(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        shape, dtype = _drawable("TruncatedNormal", shape, dtype)
        chances = random.uniform(np.empty(shape), 0.0, 1.0, 0, np.empty(shape))
        low, high = (self.mean + self.std * bound for bound in (self.a, self.b))
        return random.truncated_normal(chances, self.mean, self.std, low, high).astype(dtype)


def fans(shape: tuple[int, ...]) -> tuple[int, int]:
    """Return the fans of a weight [in, out] or of kernels [out, in, ...].

    ``fan_in`` is the number of inputs on which an output depends, and ``fan_out`` the number of outputs that depend on
    an input. For a shape [n] both are n; for [] both are 1.

    Raises:
        TypeError, ValueError: if ``shape`` is not a shape.
    """
    shape = as_shape("fans", shape)
    if len(shape) < 2:
        return (shape or (1,)) * 2  # type: ignore[return-value]  # a pair
    if len(shape) == 2:
        return shape
    window = math.prod(shape[2:])
    return shape[1] * window, shape[0] * window


class XavierUniform(Initializer):
    """Draw numbers uniformly between plus and minus ``gain * sqrt(6 / (fan_in + fan_out))`` (Glorot and Bengio, 2010).

    Args:
        fan_in, fan_out: by default the fans of the parameter's shape (:func:`fans`).

    Raises:
        TypeError, ValueError: if an argument is not a number, if a fan is not above 0, or if ``gain`` is below 0.
    """

    def __init__(self, fan_in: float | None = None, fan_out: float | None = None, gain: float = 1.0) -> None:
        op = type(self).__name__
        self.fan_in, self.fan_out = _fan(op, "fan_in", fan_in), _fan(op, "fan_out", fan_out)
        self.gain = checks.real(op, "gain", gain, least=0)

    def _sum_of_fans(self, shape: tuple[int, ...]) -> float:
        fan_in, fan_out = fans(shape)
        total = (fan_in if self.fan_in is None else self.fan_in) + (fan_out if self.fan_out is None else self.fan_out)
        return max(total, 1)

    def drawn(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        limit = self.gain * math.sqrt(6 / self._sum_of_fans(shape))
        return Uniform(-limit, limit).drawn(shape, dtype)


@checks.with_own_methods
class XavierNormal(XavierUniform):
    """Draw normal numbers of standard deviation ``gain * sqrt(2 / (fan_in + fan_out))`` (Glorot and Bengio, 2010).

    Args:
        fan_in, fan_out: by default those of the parameter's shape (:func:`fans`).

    Raises:
        TypeError, ValueError: as :class:`XavierUniform` does.
    """

    def drawn(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        return Normal(0.0, self.gain * math.sqrt(2 / self._sum_of_fans(shape))).drawn(shape, dtype)


class KaimingUniform(Initializer):
    """Draw numbers uniformly between plus and minus ``gain * sqrt(3 / fan_in)`` (He and others, 2015).

    The gain is ``sqrt(2 / (1 + negative_slope ** 2))``, which suits layers before a ReLU or leaky ReLU.

    Args:
        fan_in: by default that of the parameter's shape (:func:`fans`).

    Raises:
        TypeError, ValueError: if an argument is not a number, or if ``fan_in`` is not above 0.
    """

    def __init__(self, fan_in: float | None = None, negative_slope: float = 0.0) -> None:
        op = type(self).__name__
        slope = checks.real(op, "negative_slope", negative_slope)
        self.fan_in, self.gain = _fan(op, "fan_in", fan_in), math.sqrt(2) / math.hypot(1, slope)

    def _fan_in(self, shape: tuple[int, ...]) -> float:
        return max(fans(shape)[0] if self.fan_in is None else self.fan_in, 1)

    def drawn(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        limit = self.gain * math.sqrt(3 / self._fan_in(shape))
        return Uniform(-limit, limit).drawn(shape, dtype)


@checks.with_own_methods
class KaimingNormal(KaimingUniform):
    """Draw normal numbers of standard deviation ``gain / sqrt(fan_in)`` (He and others, 2015).

    The gain is that of :class:`KaimingUniform`.

    Args:
        fan_in: by default that of the parameter's shape (:func:`fans`).

    Raises:
        TypeError, ValueError: as :class:`KaimingUniform` does.
    """

    def drawn(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        return Normal(0.0, self.gain / math.sqrt(self._fan_in(shape))).drawn(shape, dtype)
