"""Assemble the functions of ``torch``, and the methods and operators of ``torch.Tensor``, from their modules.

``x + y`` creates a tensor. ``x += y`` writes into ``x``, and so does every function whose name ends with an underscore.
If one operand of ``x + y`` is a tensor with Paddle's methods, the result has the class of the left operand. If a tensor
``p`` with Paddle's methods is compared with a tensor ``t`` of this package, the result is always a tensor of this
package, because Python makes the same call for ``p < t`` and for ``t > p``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.engine.operations import Method
from minitensor.engine.operations.operands import NUMBERS
from minitensor.torch import (
    comparison,
    conversion,
    creation,
    creation_like,
    cuda,
    indexing,
    linear_algebra,
    memory_formats,
    memory_sharing,
    pointwise,
    promotion,
    random,
    reductions,
    slicing_joining,
    sorting,
    views,
)
from minitensor.torch.arguments import need_tensor
from minitensor.torch.autograd import gradients
from minitensor.torch.compiling import FUNCTIONS as TABLE
from minitensor.torch.compiling import reflected
from minitensor.torch.operation_table import found_in
from minitensor.torch.out import write_into_out
from minitensor.torch.tensor import Tensor

# ---------- keywords ----------

#: Maps NumPy's keywords that PyTorch also accepts to PyTorch's own names for them.
_NUMPY = {"axis": "dim", "keepdims": "keepdim"}


def with_numpy_names(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``function`` so that it also accepts ``axis`` for ``dim``, and ``keepdims`` for ``keepdim``."""

    @functools.wraps(function)
    def called(*given: Any, **named: Any) -> Any:
        return function(*given, **{_NUMPY.get(name, name): value for name, value in named.items()})

    return called


def with_out(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``function`` so that it also accepts a tensor ``out``, writes the result into it, and returns it.

    With ``out``, the wrapped function raises RuntimeError if a tensor requires grad, or if the dtype of ``out`` cannot
    hold the result.
    """

    @functools.wraps(function)
    def called(*given: Any, out: Any = None, **named: Any) -> Any:
        if out is None:
            return function(*given, **named)
        return write_into_out(function.__name__, lambda _, *same, **too: function(*same, **too), out, *given, **named)

    return called


def with_tensor(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``function`` so that it raises TypeError if its first argument is not a tensor.

    As a method, ``function`` needs no such check.
    """
    name, first = function.__name__.rstrip("_"), next(iter(inspect.signature(function).parameters))

    @functools.wraps(function)
    def called(*given: Any, **named: Any) -> Any:
        if not (given and isinstance(given[0], BaseTensor)) and (given or first in named):
            need_tensor(name, given[0] if given else named[first], name=first)
        return function(*given, **named)

    return called


def _by_name(*functions: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    return {function.__name__: function for function in functions}


# ---------- functions and methods ----------

#: Functions that become both functions of the module ``torch`` and methods of tensors, keyed by name.
_BOTH: dict[str, Callable[..., Any]] = _by_name(
    *(linear_algebra.mm, linear_algebra.matmul, linear_algebra.bmm, linear_algebra.mv, linear_algebra.dot),
    *(linear_algebra.outer, linear_algebra.trace, linear_algebra.diag, linear_algebra.inner),
    *(reductions.argmax, reductions.argmin, reductions.max, reductions.min, reductions.all, reductions.any_),
    *(reductions.count_nonzero, reductions.var, reductions.std, reductions.norm, reductions.log_softmax),
    *(reductions.logsumexp, reductions.bincount, reductions.nansum, reductions.nanmean),
    *(comparison.isclose, comparison.allclose, comparison.equal, indexing.nonzero, indexing.argwhere),
    *(random.multinomial, conversion.clone),
    *(sorting.flip, sorting.roll, sorting.argsort, sorting.sort, sorting.topk, sorting.unique),
    *(sorting.kthvalue, sorting.median, sorting.diff, sorting.cummax, sorting.cummin),
    *(pointwise.addcmul, pointwise.addcdiv, pointwise.clamp_min, pointwise.clamp_max),
    *(views.reshape, views.flatten, views.ravel, views.unflatten, views.squeeze, views.unsqueeze, views.transpose),
    *(views.permute, views.t, views.movedim),
    *(slicing_joining.broadcast_to, slicing_joining.select, slicing_joining.narrow, slicing_joining.split),
    *(slicing_joining.chunk, slicing_joining.unbind, slicing_joining.diagonal, slicing_joining.as_strided),
    *(slicing_joining.tile, slicing_joining.repeat_interleave),
) | {"swapaxes": views.transpose, "swapdims": views.transpose, "moveaxis": views.movedim}

for _name in (
    *("argmax", "argmin", "cummax", "cummin", "max", "min", "all", "any", "var", "std", "norm", "logsumexp", "nansum"),
    "nanmean",
):
    _BOTH[_name] = with_numpy_names(_BOTH[_name])

_ONLY_METHODS: dict[str, Callable[..., Any]] = _by_name(
    *(conversion.to, conversion.type_as, cuda.cuda, cuda.cpu, indexing.copy_, indexing.index_copy_),
    *(pointwise.addcmul_, pointwise.addcdiv_, pointwise.clamp_min_, pointwise.clamp_max_, pointwise.apply_),
    *(views.view, views.view_as, views.reshape_as, memory_formats.contiguous, memory_formats.is_contiguous),
    *(views.transpose_, views.t_, views.squeeze_, views.unsqueeze_),
    *(slicing_joining.expand, slicing_joining.expand_as, slicing_joining.repeat, slicing_joining.unfold),
    *(memory_sharing.numpy, memory_sharing.resize_, memory_sharing.resize_as_, memory_sharing.set_),
    *(memory_sharing.__array__, memory_sharing.__dlpack__),
    *(conversion.converter(name) for name in conversion.CONVERTERS),
    *(creation_like.like_new(make) for make in (creation.zeros, creation.ones, creation.empty, creation.full)),
    creation_like.like_new(creation.tensor),
) | {
    "backward": gradients.backward_of_one,
    "type": conversion.type_,
    "swapaxes_": views.transpose_,
    "swapdims_": views.transpose_,
    "where": indexing.where_method,
    "__getitem__": indexing.getitem,
    "__setitem__": indexing.setitem,
}

_PROPERTIES = {
    "data": property(memory_sharing.data_of, memory_sharing.set_data),
    "T": property(views.reverse_dims),
    "mT": property(views.transpose_matrices),
}

_JOINING = (slicing_joining.cat, slicing_joining.stack, slicing_joining.vstack, slicing_joining.hstack, indexing.where)
_CREATING = (
    *(creation.arange, creation.empty, creation.eye, creation.full, creation.linspace, creation.logspace),
    *(creation.ones, creation.zeros, random.normal, random.rand, random.randint, random.randn, random.randperm),
)
#: The names of the modules whose functions do not check that their first argument is a tensor.
_UNCHECKED = {module.__name__ for module in (views, slicing_joining, sorting, reductions, indexing, pointwise, random)}

#: Further functions of ``torch``, keyed by name. They are neither rows of the derivative table nor imported one by one
#: in ``torch``.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: with_tensor(each) if each.__module__ in _UNCHECKED else each for name, each in _BOTH.items()},
    **{function.__name__: with_numpy_names(with_out(function)) for function in _JOINING},
    **{function.__name__: with_out(function) for function in _CREATING},
    **_by_name(comparison.isin, promotion.result_type, promotion.promote_types, promotion.can_cast, pointwise.rsub),
    **_by_name(linear_algebra.einsum, linear_algebra.cdist, slicing_joining.meshgrid),
    **_by_name(conversion.is_tensor, conversion.numel, conversion.is_floating_point),
    "detach": with_tensor(Tensor.detach),
    **conversion.TENSOR_TYPES,
}
FUNCTIONS |= {"concat": FUNCTIONS["cat"], "concatenate": FUNCTIONS["cat"]}
FUNCTIONS["empty"] = memory_formats.with_memory_format(FUNCTIONS["empty"])

for _name in (
    *("mm", "matmul", "bmm", "mv", "dot", "outer", "var", "std", "norm", "log_softmax", "logsumexp", "addcmul"),
    *("addcdiv", "clamp_min", "clamp_max", "argmax", "argmin", "all", "any", "max", "min", "nonzero", "sort", "topk"),
    *("argsort", "diag", "multinomial", "inner", "kthvalue", "nansum", "nanmean", "cummax", "cummin", "isin"),
):
    FUNCTIONS[_name] = with_out(FUNCTIONS[_name])

for _name in (*found_in("Tensor"), *found_in("Tensor_")):
    setattr(Tensor, _name, Method(Tensor, TABLE, _name))
for _name, _member in {**_BOTH, **_ONLY_METHODS, **_PROPERTIES}.items():
    setattr(Tensor, _name, _member)
Tensor._create_from = staticmethod(creation.create_from_arguments)

# ---------- operators ----------


#: The types that a tensor can be compared with by an operator.
_COMPARABLE = (BaseTensor, np.ndarray, *NUMBERS)


def _comparison(function: Callable[..., Tensor]) -> Callable[..., Any]:
    def compare(x: Tensor, y: Any) -> Any:
        # After NotImplemented, Python tries the method of `y`; if that fails, == and != compare identity.
        return function(x, y) if isinstance(y, _COMPARABLE) else NotImplemented

    return compare


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Tensor, f"__{_name}__", _comparison(TABLE[_name]))

#: Maps the name of each binary operator (``truediv`` for ``__truediv__``) to the name of its function.
_BINARY = {
    **{name: name for name in ("add", "sub", "mul", "pow", "matmul")},
    "truediv": "div",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}

for _operator, _name in _BINARY.items():
    setattr(Tensor, f"__{_operator}__", TABLE[_name])
    if f"{_name}_" in TABLE:
        setattr(Tensor, f"__i{_operator}__", TABLE[f"{_name}_"])
    setattr(Tensor, f"__r{_operator}__", reflected(_name))

for _operator, _name in {"neg": "neg", "abs": "abs", "invert": "bitwise_not"}.items():
    setattr(Tensor, f"__{_operator}__", TABLE[_name])
Tensor.__matmul__ = linear_algebra.matmul
Tensor.__pos__ = lambda x: x


def _to_number(kind: type[Any]) -> Callable[[Tensor], Any]:
    def convert(x: Tensor) -> Any:
        if x._array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return kind(x._array.item())

    return convert


for _kind in (int, float, complex):
    setattr(Tensor, f"__{_kind.__name__}__", _to_number(_kind))
Tensor.__hash__ = lambda x: id(x)  # type: ignore[method-assign,assignment]  # a class with a new __eq__ loses its hash
