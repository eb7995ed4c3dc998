"""Check arguments that are not tensors, such as numbers, bools, names, paths and functions, and sequences of these.

Every check returns the argument in the form that the caller computes with, or raises an error that names the function,
the argument, the given value, and the allowed values. Checks have no side effects, except that ``elements`` consumes an
iterator. They never call bool() on an array, because that raises an error for most arrays.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Sequence
from types import FunctionType, GenericAlias
from typing import Any, TypeVar

import numpy as np

Kind = TypeVar("Kind", bound=type)

#: NumPy's types of integers, except np.timedelta64: it is a subclass of np.integer, but its values are times.
NUMPY_INTEGERS: Any = (
    np.unsignedinteger,
    *dict.fromkeys((np.int8, np.int16, np.int32, np.int64, np.intc, np.longlong)),
)

LARGEST = 2**63  # exclusive bound of integers that numpy accepts
LONGEST = 10**30  # exclusive bound of integers that errors show; Python cannot print more than 4,300 digits


def shown(given: Any) -> str:
    """Return the text that errors show for an argument: a short value, the beginning of a long text, or a type."""
    if isinstance(given, int) and abs(given) >= LONGEST:
        return f"an {type(given).__name__} of over 30 digits"
    if given is None or isinstance(given, (str, bytes, int, float, complex, np.generic)):
        text = repr(given)
        return text if len(text) <= 60 else f"{text[:57]}..."
    if isinstance(given, type):
        return f"the type {given.__name__}"
    if _is_short(given, 2):
        text = repr(given)
        return text if len(text) <= 60 else f"a {type(given).__name__}"
    return type(given).__name__


def _is_short(given: Any, depth: int) -> bool:
    """True if ``given`` is a list or tuple of a few plain values and lists, nested at most ``depth`` deep."""
    return (
        type(given) in (list, tuple)
        and len(given) <= 6
        and all(
            each is None
            or type(each) in (str, float, bool)
            or (type(each) is int and abs(each) < LONGEST)
            or (depth > 1 and _is_short(each, depth - 1))
            for each in given
        )
    )


def refused(op: str, name: str, allowed: str, given: Any) -> TypeError:
    """Return a TypeError about an argument of the wrong kind; ``op`` may be empty."""
    message = f"{name} must be {allowed}, not {shown(given)}"
    return TypeError(f"{op}: {message}" if op else message)


def undefined(owner: object, method: str) -> NotImplementedError:
    """Return the error of a method that the class of ``owner`` leaves to its subclasses."""
    return NotImplementedError(f"{type(owner).__name__} does not define {method}(); a subclass has to")


def real(op: str, name: str, given: Any, least: float | None = None, above: float | None = None) -> Any:
    """Return a number as Python's ``int`` or ``float``.

    Args:
        least: the smallest allowed number.
        above: a bound that the number must exceed.

    Raises:
        TypeError: if it is not a number.
        ValueError: if the number is too small, if it is nan and there is a bound, or if it is an integer that does not
            fit into 64 bits.
    """
    value = given.item() if isinstance(given, np.generic) else given
    if not isinstance(value, (int, float)):
        raise refused(op, name, "a number", given)
    if isinstance(value, int) and not -LARGEST <= value < LARGEST:
        raise ValueError(f"{op}: {name} must fit into 64 bits, not {shown(given)}")
    if least is not None and not value >= least:
        raise ValueError(f"{op}: {name} must be at least {least}, not {shown(given)}")
    if above is not None and not value > above:
        raise ValueError(f"{op}: {name} must be above {above}, not {shown(given)}")
    return value


def probability(op: str, name: str, given: Any) -> Any:
    """Return a number from 0 to 1.

    Raises:
        TypeError: if it is not a number.
        ValueError: if it is below 0, above 1, or nan.
    """
    value = given.item() if isinstance(given, np.generic) else given
    if not isinstance(value, (int, float)):
        raise refused(op, name, "a number", given)
    if not 0 <= value <= 1:
        raise ValueError(f"{op}: {name} must be a probability from 0 to 1, not {shown(given)}")
    return value


def integer(op: str, name: str, given: Any, least: int | None = None) -> int:
    """Return an integer as ``int``. A float is refused, even a whole one.

    Raises:
        TypeError: if it is not an integer.
        ValueError: if it is below ``least``, or does not fit into 64 bits.
    """
    try:
        found = operator.index(given)
    except TypeError:
        raise refused(op, name, "an integer", given) from None
    if not -LARGEST <= found < LARGEST:
        raise ValueError(f"{op}: {name} must fit into 64 bits, not {shown(given)}")
    if least is not None and found < least:
        raise ValueError(f"{op}: {name} must be at least {least}, not {found}")
    return found


def integers(op: str, name: str, given: Any, least: int | None = None) -> list[int]:
    """Return a list, tuple or other sequence of integers as a list.

    Raises:
        TypeError: if it is not a sequence of integers.
        ValueError: if one is below ``least``, or does not fit into 64 bits.
    """
    found = elements(op, name, given, "integers")
    return [integer(op, f"{name}[{i}]", each, least) for i, each in enumerate(found)]


def is_iterable(given: Any) -> bool:
    """True for an object that can be iterated over; False for a class, a memoryview and an array without dimensions."""
    if not isinstance(given, Iterable) or isinstance(given, (type, memoryview)) or getattr(given, "ndim", 1) == 0:
        return False
    try:
        iter(given)
    except TypeError:  # `__iter__` of `given` returns no iterator
        return False
    return True


def has_methods(given: Any, *names: str) -> bool:
    """True if the class of ``given`` defines or inherits all these methods. Attributes of ``given`` do not count."""
    return all(any(name in vars(cls) for cls in type(given).__mro__) for name in names)


def slice_of(op: str, given: slice) -> slice:
    """Return a slice whose parts are integers or None.

    Raises:
        TypeError: if a part is something else.
        ValueError: if the step is 0.
    """
    parts: list[int | None] = []
    for name in ("start", "stop", "step"):
        part = getattr(given, name)
        try:
            parts.append(None if part is None else operator.index(part))
        except TypeError:
            raise refused(op, f"the {name} of a slice", "an integer or None", part) from None
    if parts[2] == 0:
        raise ValueError(f"{op}: the step of a slice must not be 0")
    return slice(*parts)


def elements(op: str, name: str, given: Any, of_what: str, kind: type | tuple[type, ...] = object) -> list[Any]:
    """Return the elements of an iterable as a list, if each element is an instance of ``kind``.

    Raises:
        TypeError: if it is a text or not iterable, or if an element is of another kind.
    """
    if isinstance(given, (str, bytes, bytearray)) or not is_iterable(given):
        raise refused(op, name, f"a sequence of {of_what}", given)
    found = list(given)
    for each in found:
        if not isinstance(each, kind):
            raise TypeError(f"{op}: {name} must be a sequence of {of_what}; it contains {shown(each)}")
    return found


def flag(op: str, name: str, given: Any) -> bool:
    """Return True or False; 0, 1 and numpy's bools are converted. Raise TypeError for anything else."""
    if given is True or given is False:
        return given
    if isinstance(given, (int, np.bool_, *NUMPY_INTEGERS)) and given in (0, 1):
        return bool(given)
    raise refused(op, name, "True or False", given)


def text(op: str, name: str, given: Any) -> str:
    """Return a text; raise TypeError if it is not a str."""
    if not isinstance(given, str):
        raise refused(op, name, "a str", given)
    return given


def choice(op: str, name: str, given: Any, allowed: Sequence[Any]) -> Any:
    """Return the argument; raise ValueError if it is not one of the allowed values."""
    for each in allowed:
        if given is each or (type(given) is type(each) and given == each):
            return given
    raise ValueError(f"{op}: {name} must be one of {', '.join(map(repr, allowed))}, not {shown(given)}")


def function(op: str, name: str, given: Any) -> Any:
    """Return a callable object; raise TypeError otherwise. Types such as ``list[int]`` are refused, too."""
    if not callable(given) or isinstance(given, GenericAlias):
        raise refused(op, name, "a function", given)
    return given


def instance(op: str, name: str, given: Any, kind: type | tuple[type, ...], called: str) -> Any:
    """Return an instance of ``kind``; raise TypeError for others. Memoryviews are refused: they may be released."""
    if not isinstance(given, kind) or isinstance(given, (type, memoryview)):
        raise refused(op, name, called, given)
    return given


def path(op: str, name: str, given: Any) -> str | bytes:
    """Return the path of a file. A number is refused, because ``open`` would take it as a file descriptor and close it.

    Raises:
        TypeError: if it is neither a text nor a path.
        ValueError: if it is empty, contains a null character, or cannot be encoded.
    """
    found = path_or_empty(op, name, given)
    if not found:
        raise ValueError(f"{op}: {name} must be the path of a file, not {shown(found)}")
    return found


def path_or_empty(op: str, name: str, given: Any) -> str | bytes:
    """Return the path of a file as :func:`path` does, but accept an empty one, which the caller refuses itself."""
    if not isinstance(given, (str, bytes, os.PathLike)):
        raise refused(op, name, "a path: a str, bytes or os.PathLike", given)
    try:
        found = os.fspath(given)
        encoded = os.fsencode(found)
    except TypeError:  # `__fspath__` of `given` returns no path
        raise refused(op, name, "a path: a str, bytes or os.PathLike", given) from None
    except UnicodeEncodeError:
        encoded = b"\0"
    if b"\0" in encoded:
        raise ValueError(f"{op}: {name} must be the path of a file, not {shown(found)}")
    return found


def with_own_methods(cls: Kind) -> Kind:
    """Decorate a class: copy its inherited constructor and ``forward``, and name the copies after the class.

    The messages of Python's TypeErrors then show this class instead of its base class.

    >>> MaxPool2D()
    TypeError: MaxPool2D.__init__() missing 1 required positional argument: 'kernel_size'
    """
    for name in ("__init__", "forward"):
        inherited: Any = getattr(cls, name, None)
        if name in vars(cls) or not isinstance(inherited, FunctionType):
            continue
        copy = FunctionType(
            inherited.__code__, inherited.__globals__, name, inherited.__defaults__, inherited.__closure__
        )
        copy.__kwdefaults__, copy.__annotations__ = inherited.__kwdefaults__, inherited.__annotations__
        copy.__qualname__, copy.__module__ = f"{cls.__qualname__}.{name}", cls.__module__
        copy.__doc__ = inherited.__doc__
        setattr(cls, name, copy)
    return cls


def numpy_dtype(op: str, given: Any) -> np.dtype:
    """Return numpy's dtype for a dtype of minitensor or numpy, a type or a name; raise TypeError for anything else."""
    # A DType is recognized by its attributes, because the module `dtypes` imports this one.
    of_minitensor = getattr(type(given), "__slots__", ()) and getattr(given, "numpy", None)
    if isinstance(of_minitensor, np.dtype):
        return of_minitensor
    if isinstance(given, (str, type, np.dtype)):
        try:
            return np.dtype(given)
        except (TypeError, ValueError):  # ValueError: a text that cannot be encoded
            pass
    raise refused(op, "dtype", "a dtype of numpy", given)


def sized(op: str, name: str, given: Any, called: str) -> Any:
    """Return an object with a length; raise TypeError if it has none."""
    if isinstance(given, (type, memoryview)) or not has_methods(given, "__len__") or getattr(given, "ndim", 1) == 0:
        raise refused(op, name, called, given)
    try:
        len(given)
    except (TypeError, ValueError):  # `__len__` of `given` returns no length
        raise refused(op, name, called, given) from None
    return given
