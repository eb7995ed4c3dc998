"""Cast operands by lists of the operations that get 16-bit or float32 operands, and cache the casts of parameters.

Inside a context, the operations of one list get 16-bit operands, and the operations of another list get float32
operands. All other operations get their operands unchanged. The contexts themselves are in
:mod:`minitensor.torch.amp` and :mod:`minitensor.amp`.

A parameter is cast once for each version, and the copy is reused until the outermost context ends. Matrix products save
the copy for backward. The parameter itself remains in float32, and the optimizer writes it. If a parameter is written
inside the context, its next use creates a new copy; PyTorch would reuse the old one.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from minitensor.engine import checks
from minitensor.engine.dtypes import FLOATS, DType, float64
from minitensor.engine.modes import casting, modes

Function = TypeVar("Function", bound=Callable[..., Any])


class Lists(NamedTuple):
    """The operations of one framework on one kind of device.

    Attributes:
        low: the operations that get 16-bit operands, because they multiply matrices.
        wide: the operations that get float32 operands, because they add many numbers, or because their results need the
            range or the digits of float32.
    """

    low: frozenset[str]
    wide: frozenset[str]


#: PyTorch on a CPU, as recorded in facts/autocasting.json.
TORCH_CPU = Lists(
    frozenset(("matmul", "mm", "bmm", "addmm", "baddbmm", "linear", "conv2d", "attention")),
    frozenset().union(
        ("binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "kl_div", "l1_loss"),
        ("mse_loss", "nll_loss", "smooth_l1_loss", "prod"),
    ),
)
#: PyTorch on CUDA: https://docs.pytorch.org/docs/2.13/amp.html#cuda-op-specific-behavior
TORCH_CUDA = Lists(
    (TORCH_CPU.low | {"mv"}) - {"attention"},
    TORCH_CPU.wide.union(
        ("acos", "asin", "cosh", "cumprod", "cumsum", "erfinv", "exp", "expm1", "group_norm", "layer_norm"),
        ("log", "log10", "log1p", "log2", "log_softmax", "norm", "pow", "reciprocal", "renorm", "rsqrt"),
        ("sinh", "softmax", "sum", "tan"),
    ),
)
#: Paddle's lists of level O1, as recorded in facts/autocasting.json; they apply on a GPU.
PADDLE = Lists(
    frozenset(("conv2d", "linear", "matmul")),
    frozenset().union(
        ("acos", "asin", "atanh", "cosh", "cross_entropy", "cumprod", "cumsum", "erfinv", "exp", "expm1"),
        ("group_norm", "layer_norm", "log", "log10", "log2", "log_softmax", "mean", "nll_loss", "pow", "prod"),
        ("reciprocal", "renorm", "rsqrt", "sinh", "softmax", "square", "sum", "tan"),
    ),
)

#: The operations that are in at least one list. Only these test whether a context is active.
NAMES = frozenset().union(*(names for lists in (TORCH_CPU, TORCH_CUDA, PADDLE) for names in lists))


class Casts:
    """The casts of one context.

    Args:
        dtype: the 16-bit dtype, float16 or bfloat16.
        lists: the operations that get 16-bit operands, and those that get float32.
        cast: the function ``cast(x, dtype)``, which returns a recorded cast of ``x``.
        has_cache: True to cast each version of a parameter only once.
    """

    __slots__ = ("_cast", "_has_cache", "lists", "low")

    def __init__(
        self, dtype: DType, lists: Lists, cast: Callable[[Any, np.dtype], Any], has_cache: bool = True
    ) -> None:
        self.low, self.lists, self._cast, self._has_cache = dtype.numpy, lists, cast, has_cache

    def cast_operands(self, op: str, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the operands of ``op``, cast if ``op`` is in a list. Float64 and integers are never cast."""
        if op in self.lists.low:
            return tuple(self._cast_to_16_bits(x) if _needs_cast(x, self.low) else x for x in given)
        if op in self.lists.wide:
            return tuple(self._cast(x, _WIDE) if _needs_cast(x, _WIDE) else x for x in given)
        return given

    def _cast_to_16_bits(self, x: Any) -> Any:
        copies = modes.cast_copies
        if not self._has_cache or copies is None or x.stop_gradient or not x.is_leaf or not modes.grad:
            return self._cast(x, self.low)
        key = x._node, self.low
        if key in copies:
            array, version, copy = copies[key]
            if array() is x._array and version == x._storage.version:
                return copy
        copy = self._cast(x, self.low)
        copies[key] = weakref.ref(x._array), x._storage.version, copy
        return copy


_WIDE = np.dtype(np.float32)


def _needs_cast(x: Any, dtype: np.dtype) -> bool:
    array = getattr(x, "_array", None)
    return array is not None and array.dtype in FLOATS and array.dtype not in (dtype, float64.numpy)


def autocast(op: str, *given: Any) -> tuple[Any, ...]:
    """Return the operands of ``op``, cast by the context of this thread if there is one."""
    return given if modes.casts is None else modes.casts.cast_operands(op, given)


def autocasts(function: Function) -> Function:
    """Decorate a function whose name is in a list: the context of the calling thread casts the tensors passed to it."""
    name = function.__name__

    @functools.wraps(function)
    def casting_operands(*given: Any, **named: Any) -> Any:
        if casting.threads and modes.casts is not None:
            given = modes.casts.cast_operands(name, given)
            named = dict(zip(named, modes.casts.cast_operands(name, tuple(named.values())), strict=True))
        return function(*given, **named)

    return casting_operands  # type: ignore[return-value]  # it has the signature of `function`


class Context:
    """Context manager that sets the casts of this thread, or switches them off. One object may be nested."""

    __slots__ = ("_before", "_casts")

    def __init__(self, casts: Casts | None) -> None:
        self._casts = casts
        self._before: list[tuple[Casts | None, dict[Any, Any] | None]] = []

    def __enter__(self) -> None:
        self._before.append((modes.casts, modes.cast_copies))
        modes.casts = self._casts
        if modes.cast_copies is None:
            modes.cast_copies = {}

    def __exit__(self, *_: object) -> None:
        if not self._before:
            raise RuntimeError("autocast.__exit__: the context was not entered")
        modes.casts, modes.cast_copies = self._before.pop()

    def __call__(self, function: Function) -> Function:
        """Return a function that calls ``function`` inside the context; raise TypeError if it cannot be called."""
        checks.function(f"{type(self).__name__}()", "function", function)

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return inside  # type: ignore[return-value]  # it has the signature of `function`
