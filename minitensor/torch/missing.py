"""What is not here says so, and names the nearest thing that is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from minitensor.vocabulary.nearest import like_it

#: Per owner: names that are there and do not count, and what others are called.
NOT_HERE: dict[str, tuple[frozenset[str], dict[str, str]]] = {}


_TYPES = "a tensor holds float32, float64, int32, int64 or bool here, as the book needs no other"
#: Names that are left out on purpose, and why.
LEFT_OUT: dict[str, str] = {
    **dict.fromkeys(
        (
            *("float16", "half", "HalfTensor", "bfloat16", "BFloat16Tensor", "uint8", "byte", "ByteTensor", "int8"),
            *("char", "CharTensor", "int16", "short", "ShortTensor", "complex64", "complex128", "cfloat", "cdouble"),
        ),
        _TYPES,
    ),
    "set_default_dtype": "float32 is the default; name another where a tensor is made: torch.ones(2, dtype=...)",
    "set_default_tensor_type": "float32 is the default; name another where a tensor is made: torch.ones(2, dtype=...)",
}


def missing(owner: str, name: str, known: Iterable[str], obj: Any = None) -> AttributeError:
    """The error for a name that ``owner`` does not have: PyTorch's words, and the nearest of the ``known`` names."""
    if name in LEFT_OUT:
        return AttributeError(f"{owner} has no attribute '{name}': {LEFT_OUT[name]}", name=name, obj=obj)
    hidden, meant = NOT_HERE.get(owner, (frozenset(), {}))
    if name in meant:
        hint = f"; PyTorch's name is '{meant[name]}'"
    else:
        hint = like_it(name, [each for each in known if each not in hidden])
    return AttributeError(f"{owner} has no attribute '{name}'{hint}", name=name, obj=obj)


def missing_in(module: str, names: Callable[[], Iterable[str]]) -> Callable[[str], Any]:
    """A module's ``__getattr__``: PyTorch calls the module ``module`` in its errors."""

    def __getattr__(name: str) -> Any:
        # What Python itself asks a module for is not to be explained.
        if name.startswith("__"):
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        raise missing(f"module '{module}'", name, names())

    return __getattr__
