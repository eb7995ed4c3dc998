"""Keywords that PyTorch's functions take besides their own: NumPy's names of them, and ``out``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from minitensor.torch.variants import into_out

#: NumPy's names, which PyTorch's parser takes for its own.
NUMPY = {"axis": "dim", "keepdims": "keepdim"}


def with_numpy_names(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, which takes ``axis`` and ``keepdims`` for ``dim`` and ``keepdim``, too."""

    @functools.wraps(function)
    def called(*given: Any, **named: Any) -> Any:
        return function(*given, **{NUMPY.get(name, name): value for name, value in named.items()})

    return called


def with_out(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, which writes its result into the tensor ``out`` and returns that, where one is given.

    Raises:
        RuntimeError: when a gradient is wanted, or the dtype of ``out`` cannot hold the result.
    """

    @functools.wraps(function)
    def called(*given: Any, out: Any = None, **named: Any) -> Any:
        if out is None:
            return function(*given, **named)
        return into_out(function.__name__, lambda _, *same, **too: function(*same, **too), out, *given, **named)

    return called
