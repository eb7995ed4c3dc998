"""Hide the names of the engine's tensor that PyTorch's tensor lacks.

Reading a hidden attribute raises an error that suggests PyTorch's name. Names such as ``offset``
and ``place`` are not hidden, because the engine or ``memory_stage`` reads them on all tensors.
"""

from __future__ import annotations

from typing import Any

from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.torch import assembly  # noqa: F401  # defines the tensor's own names first
from minitensor.torch.errors import NOT_HERE
from minitensor.torch.tensor import Tensor

#: The names that are not hidden, although PyTorch's tensor lacks some of them.
_KEPT = frozenset((
    *("astype", "inplace_version", "is_contiguous", "name", "nbytes", "ndim", "offset", "place", "scale"),
    *("stop_gradient", "strides", "data_ptr", "element_size", "is_leaf"),
))  # fmt: skip

#: Maps names of Paddle to PyTorch's names, if the two are spelled too differently for the search for similar names.
MEANT = {
    "bitwise_invert": "bitwise_not",
    "cast": "to",
    "cast_": "to",
    "clear_grad": "grad",
    "clear_gradient": "grad",
    "fill_diagonal_tensor": "diagonal",
    "floor_mod": "remainder",
    "greater_than": "greater",
    "less_than": "less",
    "mod": "remainder",
    "put_along_axis": "scatter",
    "put_along_axis_": "scatter_",
    "scale_": "mul_",
    "set_value": "copy_",
    "take_along_axis": "gather",
}


class Hidden:
    """Descriptor of a hidden name. It raises AttributeError, so that Python calls the tensor's ``__getattr__``, which
    raises the error with a hint.
    """

    __slots__ = ()

    def __get__(self, instance: Any, owner: type) -> Any:
        raise AttributeError


HIDDEN = frozenset(
    name for name in dir(BaseTensor) if not name.startswith("_") and name not in _KEPT and name not in vars(Tensor)
)
for _name in HIDDEN:
    setattr(Tensor, _name, Hidden())
NOT_HERE["'Tensor' object"] = HIDDEN, MEANT
