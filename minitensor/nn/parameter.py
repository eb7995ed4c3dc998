"""Parameter: a leaf that a layer registers and an optimizer updates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.checks import shown
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.creation.making import as_shape, float_dtype
from minitensor.engine.device.places import current
from minitensor.nn.initializer import Constant, Initializer, XavierUniform


class Parameter(Tensor):
    """A tensor of floats that a :class:`~minitensor.nn.Layer` registers when it becomes an attribute of the layer.

    :func:`create_parameter` creates a parameter of any shape. Operations on parameters return ordinary tensors.

    Raises:
        TypeError: if a program calls the class, ``Parameter(...)``.
    """

    __slots__ = ()

    @property
    def trainable(self) -> bool:
        """True if the parameter needs a gradient: the opposite of ``stop_gradient``."""
        return not self.stop_gradient

    @trainable.setter
    def trainable(self, wanted: bool) -> None:
        self.stop_gradient = not checks.flag("trainable", "the new value", wanted)

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        copied = super().__deepcopy__(memo)
        memo[id(self)] = other = _parameter_on(copied._array, self.stop_gradient)
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        return _parameter_on, super().__reduce__()[1]


def _parameter_on(array: np.ndarray, stop_gradient: bool) -> Parameter:
    """Return a parameter that owns the memory of ``array``."""
    parameter: Any = Parameter._made(array, "create_parameter")
    parameter.stop_gradient = stop_gradient
    return parameter


@dataclass(frozen=True)
class ParamAttr:
    """Settings of a parameter that a layer creates.

    Attributes:
        name: the parameter's name in error messages.
        initializer: the initializer that draws the values of the parameter.
        trainable: True if the parameter needs a gradient.
    """

    name: str | None = None
    initializer: Initializer | None = None
    trainable: bool = True

    def __post_init__(self) -> None:
        if self.name is not None:
            checks.text("ParamAttr", "name", self.name)
        if self.initializer is not None:
            checks.instance("ParamAttr", "initializer", self.initializer, Initializer, "an initializer")
        checks.flag("ParamAttr", "trainable", self.trainable)


def create_parameter(
    shape: Any,
    dtype: Any = None,
    name: str | None = None,
    attr: Any = None,
    is_bias: bool = False,
    default_initializer: Initializer | None = None,
) -> Parameter:
    """Return a parameter on the device that ``set_device`` chose.

    Args:
        shape: a list of integers.
        dtype: a floating dtype; float32 by default.
        name: the parameter's name in error messages.
        attr: a :class:`ParamAttr`, an initializer, a name, True or None.
        is_bias: if there is no initializer, True to start with zeros, and False to let ``XavierUniform`` draw the
            values.
        default_initializer: the initializer that draws the values if ``attr`` has none.

    Raises:
        TypeError: for another ``attr`` or dtype.
        ValueError: if a length is negative.
    """
    settings = as_attr(attr)
    own_name = settings.name or name
    if own_name is not None:
        checks.text("create_parameter", "name", own_name)
    if default_initializer is not None:
        checks.instance("create_parameter", "default_initializer", default_initializer, Initializer, "an initializer")
    is_bias = checks.flag("create_parameter", "is_bias", is_bias)
    initializer = settings.initializer or default_initializer or (Constant() if is_bias else XavierUniform())
    array = initializer.drawn(as_shape("create_parameter", shape), float_dtype("create_parameter", dtype))
    parameter = _parameter_on(array if current.gpu is None else current.gpu.put(array), not settings.trainable)
    if own_name:
        parameter.name = own_name
    return parameter


def as_attr(attr: Any) -> ParamAttr:
    """Return ``attr`` (a :class:`ParamAttr`, an initializer, a name, True or None) as a :class:`ParamAttr`.

    Raises:
        TypeError: if ``attr`` is anything else.
    """
    if attr is None or attr is True:
        return ParamAttr()
    if isinstance(attr, ParamAttr):
        return attr
    if isinstance(attr, Initializer):
        return ParamAttr(initializer=attr)
    if isinstance(attr, str):
        return ParamAttr(name=attr)
    raise TypeError(f"weight_attr or bias_attr must be a ParamAttr, an initializer, a name or None, not {shown(attr)}")
