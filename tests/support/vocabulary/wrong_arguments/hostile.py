"""Create arguments that imitate usable ones: subclasses of built-in types, objects with failing special methods, values
of unusual NumPy dtypes, nested and endless containers.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict, UserList, deque, namedtuple
from collections.abc import Callable, Iterator
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from typing import Any

import numpy as np


class RefusedByCallback(Exception):
    """Raised by code of the program: a callback, or a special method. The package must not hide this error."""


class Text(str):
    """A subclass of str."""


class Number(int):
    """A subclass of int."""


class Real(float):
    """A subclass of float."""


class Series(list[Any]):
    """A subclass of list."""


class Numbers(tuple[Any, ...]):
    """A subclass of tuple."""


class Mapping(dict[Any, Any]):
    """A subclass of dict."""


class Choice(IntEnum):
    """A number with a name."""

    ONE = 1


class Mode(Enum):
    """A constant that is no number."""

    MEAN = "mean"


Pair = namedtuple("Pair", "height width")


def _raising(*methods: str) -> type:
    """Return a class whose special methods raise an error of the program."""

    def refuse(*given: Any, **named: Any) -> Any:
        raise RefusedByCallback("a special method of the program refused")

    return type("Refusing", (), dict.fromkeys(methods, refuse))


def _returning(value: Any, *methods: str) -> type:
    """Return a class whose special methods return ``value``, which may have the wrong type."""
    return type("Answering", (), dict.fromkeys(methods, lambda *given, **named: value))


class Longer:
    """A sequence that has more elements than ``len`` returns."""

    def __getitem__(self, position: int) -> int:
        if position > 4:
            raise IndexError(position)
        return 1

    def __len__(self) -> int:
        return 2


class Forgetful:
    """An iterable that has elements only the first time."""

    def __init__(self) -> None:
        self.rest = iter([1, 2])

    def __iter__(self) -> Iterator[int]:
        return self.rest

    def __len__(self) -> int:
        return 2


class Undecided:
    """An object whose comparisons return arrays, which have no truth value."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> Any:
        return np.array([True, False])

    def __ne__(self, other: object) -> Any:
        return np.array([True, False])


class Chameleon:
    """An object that has every attribute."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Chameleon()

    def __call__(self, *given: Any, **named: Any) -> Any:
        return Chameleon()


def nested(depth: int) -> Any:
    """Return 1 inside ``depth`` lists."""
    made: Any = 1
    for _ in range(depth):
        made = [made]
    return made


def _cycle() -> list[Any]:
    """Return a list that contains a second list, which contains the first."""
    made: list[Any] = []
    made.append([made, 1])
    return made


def _cyclic_dict() -> dict[str, Any]:
    """Return a dict that contains itself."""
    made: dict[str, Any] = {}
    made["a"] = made
    return made


def _object_array(value: Any) -> np.ndarray:
    """Return an array without dimensions that holds ``value``."""
    made = np.empty((), object)
    made[()] = value
    return made


def _failing_generator() -> Iterator[int]:
    """Yield one number, then raise an error of the program."""
    yield 1
    raise RefusedByCallback("a generator of the program refused")


def _read_only() -> np.ndarray:
    made = np.ones((2, 3), np.float32)
    made.setflags(write=False)
    return made


FIELDS = np.dtype([("a", "f4"), ("b", "i8")])

#: Maps the label of a hostile argument to a function that creates it.
HOSTILE: dict[str, Callable[[], Any]] = {
    # subclasses of built-in types
    "Text('float32')": lambda: Text("float32"),
    "Text('mean')": lambda: Text("mean"),
    "Number(1)": lambda: Number(1),
    "Real(0.5)": lambda: Real(0.5),
    "Series([2, 3])": lambda: Series([2, 3]),
    "Numbers((2, 3))": lambda: Numbers((2, 3)),
    "Mapping(a=1)": lambda: Mapping(a=1),
    "Pair(1, 2)": lambda: Pair(1, 2),
    "OrderedDict": lambda: OrderedDict(a=1),
    "UserList": lambda: UserList([1, 2]),
    "deque": lambda: deque([1, 2]),
    "frozenset": lambda: frozenset([0, 1]),
    "dict_keys": lambda: {0: 1, 1: 2}.keys(),
    "Choice.ONE": lambda: Choice.ONE,
    "Mode.MEAN": lambda: Mode.MEAN,
    "Decimal": lambda: Decimal("1.5"),
    "Fraction": lambda: Fraction(1, 2),
    # special methods that raise
    "raising __index__": _raising("__index__"),
    "raising __float__": _raising("__float__"),
    "raising __array__": _raising("__array__"),
    "raising __len__": _raising("__len__", "__getitem__"),
    "raising __iter__": _raising("__iter__"),
    "raising __eq__": type("Refusing", (_raising("__eq__", "__ne__"),), {"__hash__": object.__hash__}),
    "raising __bool__": _raising("__bool__"),
    "raising __hash__": _raising("__hash__"),
    "raising __repr__": _raising("__repr__", "__str__"),
    "raising __fspath__": _raising("__fspath__"),
    "raising __call__": _raising("__call__"),
    "raising __dlpack__": _raising("__dlpack__", "__dlpack_device__"),
    "raising in a list": lambda: [_raising("__index__", "__float__", "__array__")()],
    # special methods that return the wrong type
    "__index__ returns str": _returning("a", "__index__"),
    "__index__ returns float": _returning(1.5, "__index__"),
    "__index__ returns a large int": _returning(10**40, "__index__"),
    "__float__ returns str": _returning("a", "__float__"),
    "__array__ returns str": _returning("a", "__array__"),
    "__array__ returns objects": _returning(np.array([None, 1], object), "__array__"),
    "__len__ returns str": type("Answering", (Longer,), {"__len__": lambda self: "a"}),
    "__len__ returns -1": _returning(-1, "__len__"),
    "__iter__ returns int": _returning(1, "__iter__"),
    "__bool__ returns int": _returning(2, "__bool__"),
    "__fspath__ returns int": _returning(1, "__fspath__"),
    "__repr__ returns int": _returning(1, "__repr__"),
    "__array_interface__ is a str": lambda: type("Answering", (), {"__array_interface__": "a"})(),
    "__dlpack__ returns str": _returning("a", "__dlpack__", "__dlpack_device__"),
    "in a list, __index__ returns str": lambda: [_returning("a", "__index__")()],
    "Longer": Longer,
    "Forgetful": Forgetful,
    "Undecided": Undecided,
    "Chameleon": Chameleon,
    # containers
    "failing generator": _failing_generator,
    "generator of str": lambda: (n for n in "ab"),
    "map": lambda: map(int, ["1", "2"]),
    "zip": lambda: zip([1, 2], [3, 4], strict=True),
    "count": lambda: itertools.islice(itertools.count(), 3),
    "nested 40 deep": lambda: nested(40),
    "nested 2,000 deep": lambda: nested(2000),
    "cycle": _cycle,
    "cyclic dict": _cyclic_dict,
    "list of huge": lambda: [2**64, -(2**64)],
    "list of nan": lambda: [float("nan"), 1],
    "list of bool": lambda: [True, False],
    "list of complex": lambda: [1j, 2],
    "list of bytes": lambda: [b"a"],
    "list of dicts": lambda: [{"params": 1}],
    "list of arrays": lambda: [np.ones(2), np.ones(3)],
    "tuple of slices": lambda: (slice(None, None, -1), slice(0, 2.5)),
    "slice of str": lambda: slice("a", "b"),
    "slice of huge": lambda: slice(-(2**70), 2**70, 2**65),
    "slice with step 0": lambda: slice(None, None, 0),
    "Ellipsis twice": lambda: (Ellipsis, Ellipsis),
    # numbers and texts
    "2**64": lambda: 2**64,
    "-(2**63)": lambda: -(2**63),
    "2**5000": lambda: 2**5000,
    "-(10**5000)": lambda: -(10**5000),
    "-0.0": lambda: -0.0,
    "5e-324": lambda: 5e-324,
    "nan + nan j": lambda: complex(float("nan"), float("nan")),
    "a surrogate": lambda: "\ud800",
    "a null": lambda: "a\0b",
    "braces": lambda: "{0} %s {x!r}",
    "a long str": lambda: "a" * 100_000,
    "digits": lambda: "1",
    "bytes that are not UTF-8": lambda: b"\xff\xfe",
    # NumPy
    "np.timedelta64": lambda: np.timedelta64(3, "s"),
    "np.datetime64 NaT": lambda: np.datetime64("NaT"),
    "np.void": lambda: np.void(b"abcd"),
    "structured scalar": lambda: np.zeros((), FIELDS)[()],
    "structured 0-d": lambda: np.zeros((), FIELDS),
    "np.str_": lambda: np.str_("mean"),
    "np.bytes_": lambda: np.bytes_(b"mean"),
    "np.bool": lambda: np.True_,
    "np.complex64": lambda: np.complex64(1j),
    "np.longdouble": lambda: np.longdouble("1.5"),
    "np.float16 nan": lambda: np.float16("nan"),
    "np.uint64": lambda: np.uint64(2**64 - 1),
    "np.array(timedelta)": lambda: np.array([1, 2], "timedelta64[s]"),
    "np.array(void)": lambda: np.array([b"ab", b"cd"], "V2"),
    "np.array(bytes)": lambda: np.array([b"a", b"b"]),
    "np.array(longdouble)": lambda: np.ones(3, np.longdouble),
    "np.array(uint64)": lambda: np.array([2**64 - 1], np.uint64),
    "np.array(other byte order)": lambda: np.ones(3, ">f4"),
    "np.array of an object, 0-d": lambda: _object_array(object()),
    "np.array of None, 0-d": lambda: _object_array(None),
    "np.array of a list, 0-d": lambda: _object_array([1, 2]),
    "np.array of 10**30, 0-d": lambda: _object_array(10**30),
    "np.array 0-d of float": lambda: np.array(0.5),
    "np.array, read-only": _read_only,
    "np.array, negative strides": lambda: np.ones((2, 3), np.float32)[::-1, ::-1],
    "np.array, unaligned": lambda: np.frombuffer(bytes(13), np.uint8)[1:].view(np.float32),
    "np.array of 32 dimensions": lambda: np.ones((1,) * 32),
    "np.array without elements": lambda: np.ones((0, 3), np.float32),
    "np.ma.array": lambda: np.ma.masked_array([1.0, 2.0], [True, False]),
    "np.matrix": lambda: np.asmatrix(np.ones((2, 2))),
    "np.recarray": lambda: np.zeros(2, FIELDS).view(np.recarray),
    "np.dtype": lambda: np.dtype("timedelta64[s]"),
    "np.dtype of fields": lambda: FIELDS,
    "np.newaxis in a tuple": lambda: (np.newaxis, 0),
    "memoryview of float": lambda: memoryview(np.ones(3, np.float32)),
    "memoryview, released": lambda: _released(),
    "memoryview of 2 dimensions": lambda: memoryview(np.ones((2, 3))),
    # what a program passes by mistake
    "a class with a metaclass": lambda: type("Meta", (type,), {"__len__": lambda cls: 1})("Made", (), {}),
    "an exception": lambda: ValueError("given"),
    "a coroutine": lambda: Awaited(),
    "a bound method": lambda: [].append,
    "a lambda of no argument": lambda: lambda: 1,
    "a property": lambda: property(lambda self: 1),
    "a type alias": lambda: list[int],
    "NotImplemented in a list": lambda: [NotImplemented],
}


class Awaited:
    """An object that can only be awaited."""

    def __await__(self) -> Iterator[None]:
        yield None


def _released() -> memoryview:
    made = memoryview(bytearray(b"ab"))
    made.release()
    return made
