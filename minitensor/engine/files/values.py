"""Convert tensors and plain Python values to arrays and a structure for JSON, and back.

Values that JSON can represent are written directly. Any other value becomes an object with one key: ``{"tuple": [1,
2]}``, ``{"tensor": 0}``. A list or a dict that occurs twice in a value is loaded as two objects.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from minitensor.engine.checks import shown
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.dtypes import is_supported
from minitensor.engine.files.archive import KINDS, Unreadable
from minitensor.engine.files.stored_layouts import StoredLayouts, put_on

#: A function that encodes a value of a type that a framework adds. It returns the name of the type and the plain form
#: of the value; None for an unknown type.
Extension = Callable[[Any], "tuple[str, Any] | None"]
#: For each name, the function that restores a value from its plain form.
Restorers = dict[str, Callable[[Any], Any]]

#: The most bits of an integer in a file: some 4,000 digits. Python converts no integer of over 4,300 digits to text.
MOST_BITS = 13_288

NOT_PLAIN = "only tensors, arrays, numbers, texts, None, and lists, tuples, sets and dicts of these can be saved"


class Encoder:
    """The encoded form of one value: its structure, and the named arrays.

    Args:
        op: the name of the calling function, for errors.
        extension: encodes the types that a framework adds.
        keeps_sharing: True to write a storage once for all tensors that share it; otherwise each tensor is written
            separately.

    Raises:
        TypeError: if a part is not a plain value; the message names the part.
        ValueError: if a part is an integer of over 4,000 digits.
    """

    def __init__(self, op: str, value: Any, extension: Extension, keeps_sharing: bool) -> None:
        self._op, self._extension, self._inside = op, extension, set[int]()
        self._layouts = StoredLayouts(keeps_sharing)
        try:
            encoded = self._encode(value, ())
        except RecursionError:
            raise TypeError(f"{op}: lists or dicts are nested too deeply to be saved") from None
        self.structure = {"version": 1, "value": encoded, "tensors": self._layouts.entries}

    @property
    def arrays(self) -> list[tuple[str, Any]]:
        """The arrays to write, under unique names."""
        return list(self._layouts.members.items())

    def _encode(self, value: Any, path: tuple[Any, ...]) -> Any:
        kind = type(value)
        if kind is int and value.bit_length() > MOST_BITS:
            raise ValueError(f"{self._op}: {_place(path)} is an integer of over 4,000 digits")
        if value is None or kind in (bool, int, float, str):
            return value
        if isinstance(value, Tensor):
            return {"tensor": self._layouts.tensor(value, path)}
        if isinstance(value, (np.ndarray, np.generic)):
            return self._array(value, path)
        if (own := self._extension(value)) is not None:
            return dict([own])
        if kind is complex:
            return {"complex": [value.real, value.imag]}
        if kind is bytes:
            return {"bytes": value.hex()}
        if kind not in (list, tuple, set, frozenset, dict, OrderedDict):
            raise self._refused(value, path)
        if id(value) in self._inside:
            raise TypeError(f"{self._op}: {_place(path)} contains itself, which cannot be written into a file")
        self._inside.add(id(value))
        encoded: Any
        if kind in (dict, OrderedDict):
            pairs = [[self._key(key, path), self._encode(each, (*path, key))] for key, each in value.items()]
            encoded = {"dict" if kind is dict else "ordered": pairs}
        else:
            items = [self._encode(each, (*path, i)) for i, each in enumerate(value)]
            encoded = items if kind is list else {kind.__name__: items}
        self._inside.remove(id(value))
        return encoded

    def _key(self, key: Any, path: tuple[Any, ...]) -> Any:
        if isinstance(key, Tensor):
            raise TypeError(f"{self._op}: a key of {_place(path)} is a tensor; a key is a text or a number")
        return self._encode(key, path)

    def _array(self, value: Any, path: tuple[Any, ...]) -> dict[str, Any]:
        if (value.dtype.kind not in KINDS and not is_supported(value.dtype)) or isinstance(value, np.ma.MaskedArray):
            raise TypeError(
                f"{self._op}: {_place(path)} is an array of dtype {value.dtype}; an array can be saved if it has "
                "numbers or bools of one of NumPy's own dtypes"
            )
        encoded = self._layouts.array(np.asarray(value), path)
        return {"array": encoded} if isinstance(value, np.ndarray) else {"number": encoded}

    def _refused(self, value: Any, path: tuple[Any, ...]) -> TypeError:
        what = f"{self._op}: {_place(path)} is {_a(type(value).__name__)}: {NOT_PLAIN}"
        if hasattr(value, "state_dict"):
            return TypeError(f"{what}. Save its state_dict(), and load that into a new {type(value).__name__}")
        if isinstance(value, (tuple, dict)):
            plain = "tuple" if isinstance(value, tuple) else "dict"
            return TypeError(f"{what}. Convert it to a {plain} first: {plain}(...)")
        return TypeError(what)


def _a(name: str) -> str:
    return f"{'an' if name[:1] in 'AEIOUaeiou' else 'a'} {name}"


def _place(path: tuple[Any, ...]) -> str:
    return "the value" if not path else "the entry " + "".join(f"[{shown(key)}]" for key in path)


class Decoder:
    """A decoder for one value that :class:`Encoder` encoded.

    Args:
        arrays, structure: the contents of the file.
        restorers: for each name that the extension of the encoder returned, the function that restores a value.
        kinds: for each name of a tensor class, the function that returns a tensor of this class. The function for the
            name "" is called for all other names.
        where: a function that returns the GPU for the name of a saved place, or None for the host.
        array: a function that converts the loaded arrays that were not saved as tensors.
    """

    def __init__(
        self,
        arrays: dict[str, np.ndarray],
        structure: dict[str, Any],
        restorers: Restorers,
        kinds: dict[str, Callable[[Tensor, dict[str, Any]], Any]],
        where: Callable[[str], Any],
        array: Callable[[np.ndarray], Any] = lambda array: array,
    ) -> None:
        self._arrays, self._entries, self._kinds = arrays, structure["tensors"], kinds
        self._where, self._array, self._done = where, array, dict[int, Any]()
        self._storages: dict[tuple[str, int], Any] = {}
        self._restorers: Restorers = {
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
            **restorers,
        }
        self._encoded = structure["value"]

    def value(self, encoded: Any) -> Any:
        """Return the value that the structure ``encoded`` describes."""
        if isinstance(encoded, list):
            return [self.value(each) for each in encoded]
        if not isinstance(encoded, dict):
            return encoded
        ((name, plain),) = encoded.items()
        if name not in self._restorers:
            raise Unreadable(f"the file holds a {name}, which this function cannot load; nothing was loaded")
        return self._restorers[name](plain)

    def all(self) -> Any:
        """Return the value that was saved."""
        return self.value(self._encoded)

    def _tensor(self, number: int) -> Any:
        if number not in self._done:
            entry = self._entries[number]
            x = put_on(self._where(entry["place"]), self._arrays[entry["array"]], entry, self._storages)
            self._done[number] = self._kinds.get(entry["kind"], self._kinds[""])(x, entry)
        return self._done[number]
