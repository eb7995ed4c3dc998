"""Compare PyTorch and ``minitensor.torch`` by random calls of functions and methods that both have."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from random import Random
from types import ModuleType
from typing import Any

import numpy as np

#: Functions and methods that are not called, because their results are random or depend on the process or the device,
#: or because they change a mode.
LEFT_OUT = frozenset(
    """seed manual_seed initial_seed get_rng_state set_rng_state save load rand randn randint randperm rand_like
    randn_like normal bernoulli multinomial set_printoptions from_numpy from_dlpack source no_grad enable_grad
    inference_mode set_grad_enabled is_grad_enabled get_num_threads set_num_threads empty empty_like as_strided
    bernoulli_ normal_ uniform_ random_ exponential_ data_ptr untyped_storage cuda pin_memory register_hook apply_ set_
    resize_ resize_as_ numpy storage retain_grad backward detach_ requires_grad_ type to new_empty set_autocast_enabled
    is_autocast_enabled is_autocast_available autocast share_memory_ is_shared new_tensor""".replace("\n", " ").split()
)  # fmt: skip
DTYPES = ("float32", "float32", "float32", "float64", "int64", "int64", "int32", "bool")
SHAPES = ([2, 3], [3], [3, 3], [2, 2], [4], [1, 3], [2, 3, 4], [], [1], [0, 3], [3, 1])
PLAIN = (0, 1, -1, 2, -2, 3, -3, 5, 0.5, -1.5, True, False, None, "a", [0], [1, 0], [0, 1], [2, 3], (0,), (1, -1), [-1],
         "mean", "floor", float("nan"), float("inf"))  # fmt: skip


@dataclass(frozen=True)
class TensorOf:
    """A tensor to make in either library."""

    shape: tuple[int, ...]
    dtype: str
    values: tuple[float, ...]

    def made(self, library: Any) -> Any:
        """Return the data as a tensor of ``library``."""
        if 0 in self.shape:
            return library.zeros(list(self.shape), dtype=getattr(library, self.dtype))
        values = np.array(self.values, self.dtype).reshape(self.shape).tolist()
        return library.tensor(values, dtype=getattr(library, self.dtype))

    def __repr__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


@dataclass(frozen=True)
class Call:
    """A call of a function or, with ``is_method``, of a method of the first argument."""

    name: str
    is_method: bool
    arguments: tuple[Any, ...]

    def __repr__(self) -> str:
        return f"{'Tensor' if self.is_method else 'torch'}.{self.name}({', '.join(map(repr, self.arguments))})"

    def answer(self, library: Any) -> tuple[str, Any]:
        """Return "value" and the result in ``library``, or "error" and the error."""
        given = [_made(each, library) for each in self.arguments]
        try:
            called = getattr(given.pop(0), self.name) if self.is_method else getattr(library, self.name)
            return "value", plain(called(*given))
        except Exception as error:
            return "error", error


def _made(given: Any, library: Any) -> Any:
    if isinstance(given, TensorOf):
        return given.made(library)
    return [_made(each, library) for each in given] if isinstance(given, list) else given


def plain(value: Any) -> Any:
    """Return a result as plain values: tensors as dtype, shape and numbers."""
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return str(value.dtype).rpartition(".")[2], list(value.shape), value.detach().tolist()
    if isinstance(value, (tuple, list)):
        return [plain(each) for each in value]
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)


def is_close(a: Any, b: Any) -> bool:
    """True if two plain values are equal, floats up to rounding."""
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(is_close, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b) or abs(a - b) <= 1e-4 * max(1.0, abs(a))
    return a == b


def names(library: ModuleType, other: Any) -> tuple[list[str], list[str]]:
    """Return the functions, and the methods of tensors, that both libraries have."""

    def common(ours: Any, theirs: Any) -> list[str]:
        found = [name for name in dir(ours) if not name.startswith("_") and name not in LEFT_OUT]
        found = [name for name in found if callable(getattr(ours, name, None)) and hasattr(theirs, name)]
        return [name for name in found if not isinstance(getattr(ours, name), type)]

    return common(library, other), common(library.Tensor, other.Tensor)


class Calls:
    """Random calls, determined by a seed."""

    def __init__(self, ours: ModuleType, theirs: Any, seed: int) -> None:
        self.rng, (self.functions, self.methods) = Random(seed), names(ours, theirs)

    def tensor(self) -> TensorOf:
        """Return a small tensor."""
        shape, dtype = self.rng.choice(SHAPES), self.rng.choice(DTYPES)
        values = [self.rng.choice([-1, 0, 1, 2, 0.5, 3]) for _ in range(int(np.prod(shape)))]
        return TensorOf(tuple(shape), dtype, tuple(values))

    def argument(self) -> Any:
        """Return a tensor, a list of tensors, or a plain value."""
        chance = self.rng.random()
        if chance < 0.45:
            return self.tensor()
        return [self.tensor() for _ in range(self.rng.choice([1, 2]))] if chance < 0.5 else self.rng.choice(PLAIN)

    def next(self) -> Call:
        """Return the next random call."""
        is_method = self.rng.random() < 0.5
        name = self.rng.choice(self.methods if is_method else self.functions)
        first = self.tensor() if is_method or self.rng.random() < 0.9 else self.argument()
        return Call(
            name, is_method, (first, *(self.argument() for _ in range(self.rng.choice([0, 0, 1, 1, 1, 2, 2, 3]))))
        )


@dataclass(frozen=True)
class Difference:
    """A call that the two libraries answer differently.

    Attributes:
        call: the call.
        kind: "we answer" if only minitensor returns a value, "we refuse" if only it raises, or "values".
        text: the error of the library that raises, or both values.
    """

    call: Call
    kind: str
    text: str


def difference(call: Call, ours: Any, theirs: Any) -> Difference | None:
    """Return how the answers to a call differ, or None."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (kind, value), (their_kind, their_value) = call.answer(ours), call.answer(theirs)
    if kind != their_kind:
        error = value if kind == "error" else their_value
        return Difference(call, "we refuse" if kind == "error" else "we answer", f"{type(error).__name__}: {error}")
    if kind == "value" and not is_close(value, their_value):
        return Difference(call, "values", f"{value} and {their_value}")
    return None
