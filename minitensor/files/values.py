"""From tensors and plain values of Python to arrays and a structure that JSON can hold, and back.

What stands for itself in JSON is written as it is. Anything else is an object of one name: ``{"tuple": [1, 2]}``,
``{"tensor": 0}``. A list or a dict that stands twice is read back as two.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from minitensor.core.tensor import Tensor
from minitensor.files.archive import KINDS, Unreadable
from minitensor.files.looks import Looks, put_on

#: What a vocabulary adds: the name and the plain form of a value; None for one that it does not know.
Spelled = Callable[[Any], "tuple[str, Any] | None"]
#: The other way round: by name, what makes the value of its plain form.
Made = dict[str, Callable[[Any], Any]]

NOT_PLAIN = "a file holds tensors, arrays, numbers, texts, None, lists, tuples, sets and dicts of them, and no objects"


class Written:
    """What is gathered of one value: its structure, and the arrays under their names.

    Args:
        op: who asks, for its errors.
        spelled: what a vocabulary adds.
        keeps_sharing: whether tensors on one storage are written as that storage and looks at it; else each is written
            by itself.

    Raises:
        TypeError: for what is no plain value, naming where it stands.
    """

    def __init__(self, op: str, value: Any, spelled: Spelled, keeps_sharing: bool) -> None:
        self._op, self._spelled, self._inside = op, spelled, set[int]()
        self._looks = Looks(keeps_sharing)
        try:
            told = self._told(value, ())
        except RecursionError:
            raise TypeError(f"{op}: lists or dicts lie too deep in each other to be saved") from None
        self.structure = {"version": 1, "value": told, "tensors": self._looks.entries}

    @property
    def arrays(self) -> list[tuple[str, Any]]:
        """What is to be written, under names that are all different."""
        return list(self._looks.members.items())

    def _told(self, value: Any, path: tuple[Any, ...]) -> Any:
        kind = type(value)
        if value is None or kind in (bool, int, float, str):
            return value
        if isinstance(value, Tensor):
            return {"tensor": self._looks.tensor(value, path)}
        if isinstance(value, (np.ndarray, np.generic)):
            return self._array(value, path)
        if (own := self._spelled(value)) is not None:
            return dict([own])
        if kind is complex:
            return {"complex": [value.real, value.imag]}
        if kind is bytes:
            return {"bytes": value.hex()}
        if kind not in (list, tuple, set, frozenset, dict, OrderedDict):
            raise self._refused(value, path)
        if id(value) in self._inside:
            raise TypeError(f"{self._op}: {_place(path)} holds itself, and would have no end in a file")
        self._inside.add(id(value))
        told: Any
        if kind in (dict, OrderedDict):
            pairs = [[self._key(key, path), self._told(each, (*path, key))] for key, each in value.items()]
            told = {"dict" if kind is dict else "ordered": pairs}
        else:
            each_told = [self._told(each, (*path, i)) for i, each in enumerate(value)]
            told = each_told if kind is list else {kind.__name__: each_told}
        self._inside.remove(id(value))
        return told

    def _key(self, key: Any, path: tuple[Any, ...]) -> Any:
        if isinstance(key, Tensor):
            raise TypeError(f"{self._op}: a key of {_place(path)} is a tensor; a key is a text or a number")
        return self._told(key, path)

    def _array(self, value: Any, path: tuple[Any, ...]) -> dict[str, Any]:
        if value.dtype.kind not in KINDS or isinstance(value, np.ma.MaskedArray):
            raise TypeError(
                f"{self._op}: {_place(path)} is an array of dtype {value.dtype}; an array in a file holds numbers or "
                "truth values of a dtype that NumPy has itself"
            )
        told = self._looks.array(np.asarray(value), path)
        return {"array": told} if isinstance(value, np.ndarray) else {"number": told}

    def _refused(self, value: Any, path: tuple[Any, ...]) -> TypeError:
        what = f"{self._op}: {_place(path)} is {_a(type(value).__name__)}: {NOT_PLAIN}"
        if hasattr(value, "state_dict"):
            return TypeError(f"{what}. Save its state_dict(), and load that into {_a(type(value).__name__)} made anew")
        if isinstance(value, (tuple, dict)):
            plain = "tuple" if isinstance(value, tuple) else "dict"
            return TypeError(f"{what}. Save {plain}(...) of it")
        return TypeError(what)


def _a(name: str) -> str:
    return f"{'an' if name[:1] in 'AEIOUaeiou' else 'a'} {name}"


def _place(path: tuple[Any, ...]) -> str:
    return "the value" if not path else "the entry " + "".join(f"[{key!r}]" for key in path)


class Read:
    """One value as it was, of what :class:`Written` gathered.

    Args:
        kinds: by the name that a tensor's kind was written under, what makes a tensor of this vocabulary of it; "" is
            for all others.
        where: the GPU that a tensor goes to (None: the host), of the name of its place.
        number: what becomes of an array that was no tensor.
    """

    def __init__(
        self,
        arrays: dict[str, np.ndarray],
        structure: dict[str, Any],
        made: Made,
        kinds: dict[str, Callable[[Tensor, dict[str, Any]], Any]],
        where: Callable[[str], Any],
        array: Callable[[np.ndarray], Any] = lambda array: array,
    ) -> None:
        self._arrays, self._entries, self._kinds = arrays, structure["tensors"], kinds
        self._where, self._array, self._done = where, array, dict[int, Any]()
        self._storages: dict[tuple[str, int], Any] = {}
        self._made: Made = {
            "tensor": self._tensor,
            "array": lambda name: self._array(self._arrays[name]),
            "number": lambda name: self._arrays[name][()],
            "complex": lambda parts: complex(*parts),
            "bytes": bytes.fromhex,
            "tuple": lambda items: tuple(map(self.value, items)),
            "set": lambda items: set(map(self.value, items)),
            "frozenset": lambda items: frozenset(map(self.value, items)),
            "dict": lambda pairs: {self.value(key): self.value(each) for key, each in pairs},
            "ordered": lambda pairs: OrderedDict((self.value(key), self.value(each)) for key, each in pairs),
            **made,
        }
        self._told = structure["value"]

    def value(self, told: Any) -> Any:
        """What was written as ``told``."""
        if isinstance(told, list):
            return [self.value(each) for each in told]
        if not isinstance(told, dict):
            return told
        ((name, plain),) = told.items()
        if name not in self._made:
            raise Unreadable(f"the file holds a {name}, which there is none of here; nothing was loaded")
        return self._made[name](plain)

    def all(self) -> Any:
        """The value that was saved."""
        return self.value(self._told)

    def _tensor(self, number: int) -> Any:
        if number not in self._done:
            entry = self._entries[number]
            x = put_on(self._where(entry["place"]), self._arrays[entry["array"]], entry, self._storages)
            self._done[number] = self._kinds.get(entry["kind"], self._kinds[""])(x, entry)
        return self._done[number]
