"""The argument ``out`` of PyTorch's functions: a tensor into which the function writes its result."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.engine.device.arrays import gpu_of
from minitensor.engine.modes import modes
from minitensor.engine.operations.variants import Redirect
from minitensor.torch.dtypes import BY_NUMPY, C_NAMES, dtype_of
from minitensor.torch.errors import devices_differ, result_does_not_fit, warn
from minitensor.torch.generator import default_generator
from minitensor.torch.operands import kind_of
from minitensor.torch.tensor import Tensor

#: Functions that compute in the dtype of ``out``. Others compute first, and then convert the result.
COMPUTED_IN_OUT = frozenset(
    ("arange", "cumprod", "cumsum", "empty", "eye", "full", "linspace", "logspace", "ones", "prod", "rand", "randn")
    + ("sum", "zeros")
)
#: Exact functions: they have one result, and ``out`` must have its dtype (for ``all`` and ``any``: bool or uint8). If a
#: function has several results, the tensors in ``out`` must have the dtypes of the results. For any other function,
#: ``out`` may have another dtype of the same or a higher kind, unless ``dtype`` is given.
EXACT = frozenset(
    ("abs", "absolute", "addmm", "all", "amax", "amin", "any", "argmax", "argmin", "baddbmm", "bitwise_not", "bmm")
    + ("ceil", "diag", "dot", "fix", "floor", "frac", "gather", "heaviside", "index_add", "index_select", "inner")
    + ("isin", "log_softmax", "masked_select", "matmul", "mm", "multinomial", "mv", "nan_to_num", "neg", "negative")
    + ("nonzero", "norm", "renorm", "round", "scatter", "scatter_add", "sign", "signbit", "softmax", "take_along_dim")
    + ("tril", "triu", "trunc", "where")
)
#: Functions that are exact if their bounds are numbers. ``lerp`` is exact if its weight is a tensor with dimensions.
EXACT_BETWEEN_NUMBERS = frozenset(("clamp", "clamp_max", "clamp_min", "clip"))
#: Functions without a gradient, whose inputs may require grad.
WITHOUT_GRADIENT = frozenset(
    ("all", "any", "argmax", "argmin", "eq", "ge", "gt", "isin", "le", "logical_and", "logical_not", "logical_or")
    + ("logical_xor", "lt", "multinomial", "ne", "nonzero", "signbit")
)


def write_into_out(op: str, redirect: Redirect, out: Any, *given: Any, **named: Any) -> Any:
    """Run the operation ``op`` and write its result into ``out``. ``out`` gets the shape of the result.

    Args:
        redirect: runs an operation by its name.
        out: a tensor, or for several results a tuple or list of tensors.

    Returns:
        ``out``; for several results a tuple of its tensors.

    Raises:
        RuntimeError: if a tensor requires grad although ``op`` is not in ``WITHOUT_GRADIENT``, or if the dtype of
            ``out`` cannot hold the result. If ``op`` is exact or has several results, or if ``dtype`` is given, also if
            ``out`` and the result differ in dtype.
        TypeError: if ``out`` is not a tensor, or not a tuple of as many tensors as there are results.
    """
    targets = out if isinstance(out, (tuple, list)) else (out,)
    for each in targets:
        if not isinstance(each, BaseTensor):
            raise TypeError(f"{op}(): argument 'out' must be Tensor, not {type(each).__name__}")
    inputs = [x for each in (*given, *named.values()) for x in (each if isinstance(each, (list, tuple)) else [each])]
    inputs = [x for x in inputs if isinstance(x, BaseTensor)]
    if modes.grad and op not in WITHOUT_GRADIENT and any(not x.stop_gradient for x in (*inputs, *targets)):
        raise RuntimeError(
            f"{op}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            f"arguments requires grad.\nUse the normal operation, or call it under `torch.no_grad()`."
        )
    dtype = named.get("dtype")
    for each in targets if dtype is not None else ():
        _check_dtype(op, dtype_of(dtype).numpy, each)
    if targets and op in COMPUTED_IN_OUT and dtype is None:
        named["dtype"] = targets[0].dtype
    is_exact = (
        op in EXACT
        or (op in EXACT_BETWEEN_NUMBERS and len(inputs) == 1)
        or (op == "lerp" and len(inputs) == 3 and inputs[2]._array.ndim > 0)
    )
    before = default_generator.get_state()
    try:
        return _write_results(op, redirect(op, *given, **named), out, targets, is_exact)
    except BaseException:
        # The computation may have drawn random numbers before `out` was refused.
        default_generator.set_state(before)
        raise


def _write_results(op: str, result: Any, out: Any, targets: Any, is_exact: bool) -> Any:
    """Write each result into its tensor in ``targets``. Return ``out``; for several results, a tuple of the tensors."""
    if isinstance(result, tuple) != isinstance(out, (tuple, list)):
        raise TypeError(
            f"{op}(): argument 'out' must be {'tuple of Tensors' if isinstance(result, tuple) else 'Tensor'}, not "
            f"{type(out).__name__}"
        )
    results = result if isinstance(result, tuple) else (result,)
    if len(results) != len(targets):
        raise TypeError(f"{op}(): argument 'out' must be tuple of {len(results)} Tensors, not of {len(targets)}")
    for each, target in zip(results, targets, strict=True):
        _check_target(op, each, target, is_exact or isinstance(result, tuple))
    for each, target in zip(results, targets, strict=True):
        _write_result(each, target)
    if not isinstance(result, tuple):
        return out
    return result._make(targets) if hasattr(result, "_make") else tuple(targets)


def _check_target(op: str, result: Any, out: Any, is_exact: bool) -> None:
    """Raise RuntimeError if the dtype of ``out`` does not fit the result, or ``out`` is on another device."""
    have, want = result._array, out._array
    if op in ("all", "any") and want.dtype in (np.bool_, np.uint8):
        pass
    elif is_exact:
        _check_dtype(op, have.dtype, out)
    elif kind_of(have.dtype) > kind_of(want.dtype):
        raise result_does_not_fit(op, out, have.dtype)
    if gpu_of(have) is not gpu_of(want):
        raise devices_differ()


def _check_dtype(op: str, dtype: np.dtype, out: Any) -> None:
    """Raise RuntimeError unless ``out`` has the dtype ``dtype``."""
    if dtype != out._array.dtype:
        wanted, given = BY_NUMPY[dtype], BY_NUMPY[out._array.dtype]
        raise RuntimeError(
            f"Expected out tensor to have dtype {C_NAMES[wanted.name]}, but got {C_NAMES[given.name]} instead\n"
            f"Pass a tensor with dtype={wanted} as `out` of {op}()."
        )


def _write_result(result: Any, out: Any) -> None:
    have, want = result._array, out._array
    if have.shape != want.shape:
        if want.size:
            warn(
                f"An output with one or more elements was resized since it had shape {list(want.shape)}, which does "
                f"not match the required output shape {list(have.shape)}. This behavior is deprecated, and in a future "
                f"PyTorch release outputs will not be resized unless they have zero elements. You can explicitly reuse "
                f"an out tensor t by resizing it, inplace, to zero elements with t.resize_(0)."
            )
        out.resize_(have.shape)
    Tensor.copy_(out, result)
