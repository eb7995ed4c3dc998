"""Create tensors from data, constants and ranges. :mod:`minitensor.torch.random` creates random tensors."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minitensor.engine.checks import NUMPY_INTEGERS, shown
from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.engine.creation import making as engine
from minitensor.engine.creation.from_data import MOST_DIMENSIONS, array_of
from minitensor.engine.device.places import current, device_named
from minitensor.engine.dtypes import DTYPES, FLOATS, INTEGERS, is_supported, promoted
from minitensor.engine.kernels.numbers import stored
from minitensor.engine.operations.operands import NUMBERS
from minitensor.engine.sharing import dlpack
from minitensor.engine.sharing.numpy_memory import as_plain_array, borrow
from minitensor.torch import result_strides
from minitensor.torch.arguments import need_int, need_ints, sizes_of
from minitensor.torch.dtypes import bool_, dtype_of, engine_place, float32, float64, int64
from minitensor.torch.errors import warn
from minitensor.torch.scalars import check_range
from minitensor.torch.tensor import Tensor, as_torch


def check_placement(op: str, device: Any, requires_grad: Any, dtype: np.dtype) -> None:
    """Raise the errors that :func:`placed` raises for these arguments.

    Functions that draw random numbers call this function first, so that a call that raises an error draws no numbers.
    """
    if not isinstance(requires_grad, (bool, np.bool_)):
        raise TypeError(f"{op}(): argument 'requires_grad' must be bool, not {type(requires_grad).__name__}")
    if device is not None:
        device_named(op, engine_place(device))
    if requires_grad and dtype not in FLOATS:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")


def placed(op: str, array: np.ndarray, device: Any, requires_grad: bool) -> Tensor:
    """Return a tensor on ``device`` (None: the device for new tensors). On the host it uses the memory of ``array``."""
    check_placement(op, device, requires_grad, array.dtype)
    gpu = current.gpu if device is None else device_named(op, engine_place(device))
    made = Tensor._made(array if gpu is None else gpu.put(array), op)
    if requires_grad:
        made.stop_gradient = False
    return made


def size_of(op: str, size: tuple[Any, ...]) -> tuple[int, ...]:
    """Return a tuple with the lengths of the shape that a program passed to ``op`` as separate numbers or as one list.

    Raises:
        TypeError: if a length is not an integer.
        RuntimeError: if a length is negative, or the shape has more elements than memory holds.
    """
    lengths = tuple(sizes_of(op, size))
    if any(n < 0 for n in lengths):
        raise RuntimeError(f"{op}: Dimension size must be non-negative.\nThe requested shape is {shown([*lengths])}.")
    try:
        return engine.as_shape(op, lengths)
    except ValueError as error:
        raise RuntimeError(str(error)) from None


def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Return a tensor with a copy of ``data`` (numbers, nested lists, an array, a tensor) on its own storage. The
    result has the shape of the data.

    Args:
        dtype: by default the dtype of ``data`` if it is an array or a tensor, else float32, int64 or bool by the kind
            of the numbers. If the items of a list have several dtypes, the result has the dtype to which they promote.

    Raises:
        ValueError: if the lists differ in length.
        TypeError: if an element is not a number.
        RuntimeError: if the dtype cannot hold a number, or ``requires_grad`` is true and the dtype is not a
            floating-point one.
    """
    wanted = None if dtype is None else dtype_of(dtype).numpy
    if isinstance(data, BaseTensor):
        warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor)."
        )
    if isinstance(data, (list, tuple)):
        _check_items(data)
        wanted = _promoted_dtype(data) if wanted is None else wanted
    try:
        array = array_of(data, wanted)
        if isinstance(data, (BaseTensor, np.ndarray)):
            array = result_strides.like_first(array, [data._array if isinstance(data, BaseTensor) else data])
    except ValueError as error:
        if "ragged" not in str(error):
            raise RuntimeError(str(error).replace("to_tensor", "tensor()")) from None
        raise _ragged_error(data) from None
    except TypeError as error:
        raise TypeError(
            f"new(): invalid data type '{type(data).__name__}'\n{error}".replace("to_tensor", "tensor")
        ) from None
    return placed("tensor", array, device, requires_grad)


def _check_items(data: Any, dim: int = 1) -> None:
    """Raise ValueError if ``data`` contains text, a tensor of no or several elements, or lists nested too deep."""
    if dim > MOST_DIMENSIONS:
        raise ValueError(
            f"too many dimensions '{type(data).__name__}'\n"
            f"A tensor has at most {MOST_DIMENSIONS}; does one of the lists hold itself?"
        )
    for item in data:
        if isinstance(item, str):
            raise ValueError(f"too many dimensions 'str'\nA tensor holds numbers, not the text {item!r}.")
        if isinstance(item, BaseTensor) and item._array.size != 1:
            raise ValueError(
                f"only one element tensors can be converted to Python scalars\n"
                f"The list has a tensor of shape {list(item._array.shape)}: torch.stack(list) puts tensors together."
            )
        if isinstance(item, (list, tuple)):
            _check_items(item, dim + 1)


def _promoted_dtype(data: Any) -> np.dtype | None:
    """Return the dtype to which PyTorch promotes the items of nested lists.

    Return None if there are no items, or if the dtype of an item is one that a tensor cannot have.
    """
    dtypes: set[Any] = set()
    _collect_dtypes(data, dtypes)
    if not all(isinstance(each, np.dtype) and is_supported(each) for each in dtypes):
        return None
    return functools.reduce(promoted, dtypes) if dtypes else None


#: The dtypes of Python's numbers in lists.
_OF_PYTHON = {bool: np.dtype(np.bool_), int: np.dtype(np.int64), float: np.dtype(np.float32)}


def _collect_dtypes(data: Any, dtypes: set[Any]) -> None:
    """Add the dtypes of all items of nested lists to ``dtypes``; None for an item without one."""
    kinds = set(map(type, data))
    if kinds <= _OF_PYTHON.keys():  # the usual case: there are only Python's numbers
        dtypes.update(_OF_PYTHON[kind] for kind in kinds)
        return
    for item in data:
        if isinstance(item, (list, tuple)):
            _collect_dtypes(item, dtypes)
        else:
            array = item._array if isinstance(item, BaseTensor) else item
            dtypes.add(_OF_PYTHON.get(type(item)) or getattr(array, "dtype", None))


def _ragged_error(data: Any, dim: int = 0) -> ValueError:
    """Return the error for nested lists ``data``, where lists at the same depth differ in length."""
    lengths = [len(item) if isinstance(item, (list, tuple, np.ndarray)) and np.ndim(item) else 0 for item in data]
    for n in lengths:
        if n != lengths[0]:
            return ValueError(f"expected sequence of length {lengths[0]} at dim {dim + 1} (got {n})")
    flat = [inner for item in data for inner in item]
    return _ragged_error(flat, dim + 1)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """Return ``data`` as a tensor that shares the memory of ``data`` if possible. The result has the shape of ``data``.

    If ``data`` is a tensor that already has the dtype and device, the result is the tensor itself or, if ``data`` has
    Paddle's methods, an alias on the same storage with the same history. If ``data`` is an array of the native byte
    order, the result uses its memory, unless the dtype or device differs. Anything else is copied.

    Raises:
        ValueError, TypeError: as ``torch.tensor`` does, if ``data`` is neither an array nor a tensor.
    """
    if isinstance(data, BaseTensor):
        shared = data if isinstance(data, Tensor) else as_torch(data.__copy__())
    elif isinstance(data, np.ndarray) and is_supported(data.dtype) and data.dtype.isnative:
        shared = from_numpy(data)
    else:
        shared = tensor(data)
    wanted: dict[str, Any] = {}
    if dtype is not None and dtype_of(dtype).numpy != shared._array.dtype:
        wanted["dtype"] = dtype
    if device is not None:
        wanted["device"] = device
    return shared.to(**wanted) if wanted else shared


def from_numpy(ndarray: np.ndarray) -> Tensor:
    """Return a tensor on the memory of an array: a write to either changes both. The result has the shape and dtype of
    the array.

    Raises:
        TypeError: if ``ndarray`` is not an array, or if a tensor cannot have its dtype.
        ValueError: if a stride is negative or not a multiple of the element size, or if the byte order is not native.
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    if not is_supported(ndarray.dtype):
        known = ", ".join(DTYPES)
        raise TypeError(
            f"can't convert np.ndarray of type numpy.{ndarray.dtype}. The supported types here are: {known}."
        )
    if not ndarray.dtype.isnative:
        raise ValueError("given numpy array has byte order different from the native byte order. Copy it first.")
    if any(step < 0 for step in ndarray.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "currently supported. (You can probably work around this by making a copy of your array  with "
            "array.copy().) "
        )
    if any(step % ndarray.itemsize for step in ndarray.strides):
        raise ValueError("given numpy array strides not a multiple of the element byte size. Copy it first.")
    if not ndarray.flags.writeable:
        warn(
            "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means "
            "writing to this tensor will result in undefined behavior. You may want to copy the array to protect its "
            "data or make it writable before converting it to a tensor."
        )
    shared = as_torch(borrow("from_numpy", as_plain_array("from_numpy", ndarray)))
    result_strides.register_strides(shared._array)
    return shared


def from_dlpack(ext_tensor: Any) -> Tensor:
    """Return a tensor on the memory of an object that supports DLPack. The result has the shape and dtype of the
    object.

    Raises:
        TypeError: if the object has no ``__dlpack__``.
    """
    return as_torch(dlpack.from_dlpack(ext_tensor))


# ---------- constants ----------


def full(
    size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, out: Any = None
) -> Tensor:
    """Return a tensor filled with ``fill_value``.

    Args:
        size: the shape.
        fill_value: one number.
        dtype: by default float32, int64 or bool, by the kind of ``fill_value``.

    Raises:
        RuntimeError: if a length is negative, or ``dtype`` cannot hold the number.
        TypeError: if ``fill_value`` is not a number, or ``size`` is not a shape.
    """
    fill_value = filled("full", fill_value, None if dtype is None else dtype_of(dtype).numpy)
    shape = size_of("full", (need_ints("full", "size", size),))
    return placed("full", np.full(shape, fill_value), device, requires_grad)


def filled(op: str, value: Any, dtype: np.dtype | None) -> np.ndarray:
    """Return a number as a numpy scalar of ``dtype``. If ``dtype`` is None, the scalar is float32, int64 or bool, by
    the kind of the number.

    Raises:
        TypeError, RuntimeError: if ``value`` is not a number, or does not fit into ``dtype``.
    """
    if not isinstance(value, NUMBERS):
        if not isinstance(value, BaseTensor) or value._array.size != 1:
            raise TypeError(f"{op}(): argument 'fill_value' must be Number, not {type(value).__name__}")
        value = value.item()
    wanted = array_of(value, None).dtype if dtype is None else dtype
    check_range(value, wanted)
    try:
        return stored(op, value, wanted)
    except ValueError as error:
        raise RuntimeError(f"value cannot be converted to type {wanted.name} without overflow: {error}") from None


_CONSTANT = """
Args:
    size: the shape, as numbers or as one list.

Returns:
    A tensor of that shape on its own storage, float32 unless ``dtype`` is given.

Raises:
    RuntimeError: if a length is negative, or ``requires_grad`` is true and the dtype is not a floating-point one.
    TypeError: if the size is not a shape, or a tensor cannot have the dtype.
"""


def _constant(name: str, make: Callable[..., np.ndarray], doc: str) -> Callable[..., Tensor]:
    def create(
        *size: Any,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        layout: Any = None,
        pin_memory: bool = False,
    ) -> Tensor:
        wanted = float32 if dtype is None else dtype_of(dtype)
        return placed(name, make(size_of(name, size), wanted.numpy), device, requires_grad)

    create.__name__ = create.__qualname__ = name
    create.__doc__ = f"{doc}\n{_CONSTANT}"
    return create


zeros = _constant("zeros", np.zeros, "Return a tensor of zeros.")
ones = _constant("ones", np.ones, "Return a tensor of ones.")
empty = _constant("empty", np.zeros, "Return a tensor of zeros. In PyTorch, its memory is uninitialized.")


def eye(n: int, m: int | None = None, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Return a matrix with 1 on the diagonal and 0 elsewhere. It has the shape [n, m], and the dtype float32 unless
    ``dtype`` is given.

    Args:
        n: the number of rows.
        m: the number of columns; by default ``n``.

    Raises:
        RuntimeError: if a number is negative.
    """
    wanted = float32 if dtype is None else dtype_of(dtype)
    n, m = need_int("eye", "n", n), None if m is None else need_int("eye", "m", m, 2)
    if n >= 0 and n * (n if m is None else max(m, 0)) > engine.MOST_ELEMENTS:
        raise RuntimeError(f"eye: a matrix of {shown(n)} rows is more than memory holds")
    if n < 0 or (m is not None and m < 0):
        raise RuntimeError(f"n must be greater or equal to 0, got {n if n < 0 else m}")
    return placed("eye", np.eye(n, m, dtype=wanted.numpy), device, requires_grad)


def _number(op: str, value: Any) -> Any:
    if isinstance(value, BaseTensor) and value._array.ndim == 0:
        return value.item()
    if not isinstance(value, NUMBERS):
        raise TypeError(f"{op}(): a bound or step must be a number, not {type(value).__name__}")
    check_range(value, float64.numpy)
    return value


def arange(*bounds: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, **named: Any) -> Tensor:
    """Return the numbers from ``start`` (default 0) up to, but not including, ``end``, in steps of ``step`` (default
    1). The result has one dimension.

    Call it as ``arange(end)``, ``arange(start, end)`` or ``arange(start, end, step)``. Unless ``dtype`` is given, the
    result is int64 if all these numbers are integers, else float32.

    Raises:
        NotImplementedError: if ``dtype`` is bool.
        RuntimeError: if ``step`` is 0 or has the wrong sign.
        TypeError: if a bound or the step is not a number.
        ValueError: if ``dtype`` is int64, and ``step`` is a fraction that becomes 0 as an integer.
    """
    numbers = [_number("arange", n) for n in bounds]
    if not 1 <= len(numbers) + len(named) <= 3 or set(named) - {"start", "end", "step"}:
        raise TypeError("arange() takes end, or start and end, or start, end and step")
    if len(numbers) == 1 and "end" not in named:
        numbers = [named.get("start", 0), *numbers]
    names = ("start", "end", "step")
    given = {"start": 0, "step": 1, **dict(zip(names, numbers, strict=False)), **named}
    start, end, step = (_number("arange", given[name]) for name in names)
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not all(math.isfinite(n) for n in (start, end, step)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    whole = all(isinstance(n, (int, *NUMPY_INTEGERS)) for n in (start, end, step))
    wanted = (int64 if whole else float32) if dtype is None else dtype_of(dtype)
    if wanted == bool_:
        raise NotImplementedError("\"arange_cpu\" not implemented for 'Bool'")
    if wanted == int64:
        start, end, step = int(start), int(end), int(step)
        if step == 0:
            raise ValueError("step must be nonzero: as an integer, it is 0")
    count = math.ceil((end - start) / step)
    if wanted.numpy in INTEGERS:  # as in PyTorch, truncate the bounds only now, except for int64
        start, step, whole = int(start), int(step), True
    if count > engine.MOST_ELEMENTS:
        raise RuntimeError(f"arange: {shown(count)} numbers are more than memory holds")
    values = np.arange(count, dtype=np.int64 if whole else np.float64) * step + start
    return placed("arange", values.astype(wanted.numpy), device, requires_grad)


def linspace(
    start: Any, end: Any, steps: int, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Return ``steps`` evenly spaced numbers from ``start`` to ``end``, both included. The result has the shape
    [steps], and the dtype float32 unless ``dtype`` is given.

    Raises:
        RuntimeError: if ``steps`` is negative.
    """
    wanted = (float32 if dtype is None else dtype_of(dtype)).numpy
    return placed("linspace", _evenly_spaced("linspace", start, end, steps, wanted), device, requires_grad)


def _evenly_spaced(op: str, start: Any, end: Any, steps: Any, wanted: np.dtype) -> np.ndarray:
    start, end = wanted.type(_number(op, start)), wanted.type(_number(op, end))
    steps = need_int(op, "steps", steps, 3)
    if steps > engine.MOST_ELEMENTS:
        raise RuntimeError(f"{op}: {steps} numbers are more than memory holds")
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if steps == 1:
        return np.array([start])
    # As in PyTorch, the first half is computed from ``start`` and the second half from ``end``.
    step = (end - start) / wanted.type(max(steps - 1, 1))
    i = np.arange(steps)
    forth, back = start + step * i.astype(wanted), end - step * (steps - 1 - i).astype(wanted)
    return np.where(i < steps // 2, forth, back).astype(wanted)


def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return powers of ``base`` whose exponents are ``steps`` evenly spaced numbers from ``start`` to ``end``, both
    included. The result has the shape [steps], and the dtype float32 unless ``dtype`` is given.

    Raises:
        RuntimeError: if ``steps`` is negative.
    """
    wanted = (float32 if dtype is None else dtype_of(dtype)).numpy
    base = _number("logspace", base)
    powers = _evenly_spaced("logspace", start, end, steps, np.dtype(np.float64))
    return placed("logspace", np.power(base, powers).astype(wanted), device, requires_grad)


def create_from_arguments(*given: Any) -> Tensor:
    """Return the result of ``torch.Tensor(*given)``: a float32 tensor. ``given`` is its shape or its data."""
    if all(hasattr(n, "__index__") and not isinstance(n, BaseTensor) for n in given):
        return empty(*(given or (0,)))
    if len(given) > 1:
        raise TypeError("Tensor() takes data, or the length of each dimension; torch.tensor(data) keeps the dtype")
    return tensor(given[0].detach() if isinstance(given[0], Tensor) else given[0], dtype="float32")
