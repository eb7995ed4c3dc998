"""Classify the functions of torch that a function mode observes, and find the names that users call them by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

#: Properties that return another tensor on the same memory, so that reading them emits an event.
_VIEW_PROPERTIES = frozenset(("data", "T", "mT", "H", "mH", "real", "imag"))

#: Functions that emit no event: they only read a tensor, do not change memory, or are observed in another way.
_SILENT = frozenset((
    "__bool__", "__complex__", "__contains__", "__dir__", "__float__", "__format__", "__hash__", "__index__", "__int__",
    "__len__", "__repr__", "__reduce_ex__", "__array_wrap__", "_is_view", "_set_grad_enabled", "data_ptr", "dim",
    "element_size", "get_device", "is_complex", "is_contiguous", "is_floating_point", "is_inference", "is_same_size",
    "is_set_to", "is_shared", "is_signed", "item", "manual_seed", "ndimension", "nelement", "numel",
    "register_hook", "register_post_accumulate_grad_hook", "requires_grad_", "retain_grad", "size", "storage_offset",
    "stride", "tolist", "type_as_name", "set_default_device", "get_default_device", "is_nonzero", "equal", "allclose",
    "is_storage", "is_tensor", "result_type", "can_cast", "broadcast_shapes", "_assert", "backward", "grad",
))  # fmt: skip

#: Functions that pass the address of a tensor's memory to another library.
_EXPORTS = frozenset(
    ("numpy", "__array__", "__dlpack__", "untyped_storage", "storage", "_typed_storage", "share_memory_")
)

#: Functions that overwrite memory without incrementing a version.
_UNCOUNTED = frozenset(("batch_norm", "instance_norm", "apply_", "map_", "map2_", "native_batch_norm"))

#: Functions that change the layout of a tensor and increment its version without overwriting anything.
_LAYOUT_CHANGES = frozenset((
    "as_strided_", "detach_", "resize_", "resize_as_", "squeeze_", "swapaxes_", "swapdims_", "t_", "transpose_",
    "unsqueeze_", "_bump_version",
))  # fmt: skip

#: Maps Python's name of an operator to the name of its operation.
_OPERATORS = {
    "__getitem__": "getitem", "__setitem__": "setitem", "__rsub__": "sub", "__rpow__": "pow", "__rdiv__": "div",
    "__rtruediv__": "div", "__rfloordiv__": "floor_divide", "__floordiv__": "floor_divide", "__rmod__": "remainder",
    "__rmatmul__": "matmul", "__pow__": "pow", "__ipow__": "pow_", "__ifloordiv__": "floor_divide_",
    "__idiv__": "div_", "__imod__": "remainder_", "__rlshift__": "bitwise_left_shift",
    "__rrshift__": "bitwise_right_shift", "__deepcopy__": "deepcopy", "__reversed__": "flip", "__iter__": "unbind",
}  # fmt: skip


class Call:
    """The properties of a function of torch.

    Attributes:
        name: the name by which users call the function.
        is_silent: True if a call emits no event.
        exports: True if a call passes the memory of its first argument to another library.
        is_uncounted: True if a call may overwrite memory without incrementing a version.
        writes_nothing: True if a call increments the version without overwriting anything.
        is_gradient: True for reading ``x.grad``.
        hooks: True if a call registers a hook of a tensor.
        is_data: True for ``x.data``, whose result has a separate version counter.
    """

    __slots__ = ("name", "is_silent", "exports", "is_uncounted", "writes_nothing", "is_gradient", "is_data", "hooks")

    def __init__(self, function: Any) -> None:
        name = getattr(function, "__name__", "")
        if name in ("__get__", "__set__", "__delete__"):
            of = getattr(getattr(function, "__self__", None), "__name__", "")
            self.is_silent = of not in _VIEW_PROPERTIES if name == "__get__" else of != "data"
            name = of
        else:
            # torch calls functions of these types internally, for example in its profiler
            inner = type(function).__name__ in ("OpOverload", "OpOverloadPacket", "TorchBindOpOverload")
            self.is_silent = inner or name in _SILENT or not name
        self.is_gradient = name == "grad" and getattr(function, "__name__", "") == "__get__"
        self.exports = name in _EXPORTS
        self.is_uncounted = name in _UNCOUNTED or name.startswith("_fused_")
        self.writes_nothing = name in _LAYOUT_CHANGES
        self.is_data = name == "data"
        self.hooks = name in ("register_hook", "register_post_accumulate_grad_hook")
        self.name = _OPERATORS.get(name) or (name.strip("_") if name.startswith("__") else name)


_known: dict[Any, Call] = {}


def call_of(function: Any) -> Call:
    """Return the properties of a function."""
    try:
        found = _known.get(function)
        if found is None:
            found = _known[function] = Call(function)
        return found
    except TypeError:  # the function is not hashable
        return Call(function)


def written_name(name: str) -> str:
    """Return the in-place name of an operation: ``relu_`` for ``relu(x, inplace=True)``."""
    return name if name.endswith("_") or name in ("setitem", "data") else f"{name}_"


def tensors_in(value: Any, depth: int = 3) -> Iterator[torch.Tensor]:
    """Yield the tensors among the arguments or results of a call."""
    if isinstance(value, torch.Tensor):
        yield value
    elif depth and isinstance(value, (list, tuple)):
        for each in value:
            if each is not None and not isinstance(each, (int, float, str)):
                yield from tensors_in(each, depth - 1)
    elif depth and isinstance(value, dict):
        for each in value.values():
            if each is not None and not isinstance(each, (int, float, str)):
                yield from tensors_in(each, depth - 1)
