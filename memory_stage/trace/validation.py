"""Check that the stage can show a trace.

`problems(trace)` checks the structure of a trace against `trace.schema.json`. Then it checks rules that a schema cannot
express: an event refers only to things that an earlier event made, cells are inside their storage, and versions rise.
This module needs no package: it implements the keywords of JSON Schema that this schema uses, and refuses all others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

__all__ = ["TraceError", "problems", "schema", "validate"]


class TraceError(ValueError):
    """Raised if a trace breaks the schema or its rules. The message names the place in the trace and the problem."""


@cache
def schema() -> dict:
    """Return the JSON Schema (draft 2020-12) of a trace."""
    return json.loads((Path(__file__).parent / "trace.schema.json").read_text(encoding="utf-8"))


def validate(trace: Any) -> None:
    """Check a trace.

    Raises:
        TraceError: if the trace has problems. The message names the first few.
    """
    found = list(islice(problems(trace), 5))
    if found:
        raise TraceError("the stage cannot show this trace:\n  " + "\n  ".join(found))


def problems(trace: Any) -> Iterator[str]:
    """Yield the problems of `trace` as sentences that begin with the place in the trace.

    The rules that a schema cannot express are only checked if the structure has no problems.
    """
    shape = list(_against(schema(), trace, "trace"))
    yield from shape
    if not shape:
        yield from _reference_problems(trace)


# ---- the shape: the part of JSON Schema that the trace's schema uses --------------------------------------------

_TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "integer": int}
_NOT_CHECKED = {"$schema", "$defs", "title", "description"}


def _is(value: Any, name: str) -> bool:
    # True is an int in Python and not in JSON
    return isinstance(value, _TYPES[name]) and not (name == "integer" and isinstance(value, bool))


def _against(rule: dict, value: Any, at: str) -> Iterator[str]:
    for keyword, wanted in rule.items():
        if keyword not in _NOT_CHECKED:
            yield from _KEYWORDS[keyword](rule, wanted, value, at)


def _ref(rule: dict, wanted: str, value: Any, at: str) -> Iterator[str]:
    yield from _against(schema()["$defs"][wanted.removeprefix("#/$defs/")], value, at)


def _type(rule: dict, wanted: Any, value: Any, at: str) -> Iterator[str]:
    names = wanted if isinstance(wanted, list) else [wanted]
    if not any(_is(value, name) for name in names):
        yield f"{at}: {value!r:.60} is not of type {' or '.join(names)}"


def _const(rule: dict, wanted: Any, value: Any, at: str) -> Iterator[str]:
    if value != wanted or isinstance(value, bool) != isinstance(wanted, bool):
        yield f"{at}: {value!r:.60} is not {wanted!r}"


def _enum(rule: dict, wanted: list, value: Any, at: str) -> Iterator[str]:
    if value not in wanted:
        yield f"{at}: {value!r:.60} is none of {wanted}"


def _required(rule: dict, wanted: list, value: Any, at: str) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (f"{at}: {key!r} is missing" for key in wanted if key not in value)


def _properties(rule: dict, wanted: dict, value: Any, at: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key in wanted.keys() & value.keys():
            yield from _against(wanted[key], value[key], f"{at}.{key}")


def _additional(rule: dict, wanted: Any, value: Any, at: str) -> Iterator[str]:
    if not isinstance(value, dict):
        return
    for key in value.keys() - rule.get("properties", {}).keys():
        if wanted is False:
            yield f"{at}: {key!r:.60} is not known here"
        else:
            yield from _against(wanted, value[key], f"{at}.{key!s:.60}")


def _property_names(rule: dict, wanted: dict, value: Any, at: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key in value:
            yield from _against(wanted, key, f"{at}, key {key!r:.60}")


def _items(rule: dict, wanted: dict, value: Any, at: str) -> Iterator[str]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _against(wanted, item, f"{at}[{index}]")


def _any_of(rule: dict, wanted: list, value: Any, at: str) -> Iterator[str]:
    if all(any(True for _ in _against(option, value, at)) for option in wanted):
        yield f"{at}: {value!r:.60} fits none of the allowed forms"


def _one_of(rule: dict, wanted: list, value: Any, at: str) -> Iterator[str]:
    """Check an event against the schema that its `do` selects, so that the message names the problem inside it."""
    name = value.get("do") if isinstance(value, dict) else None
    option = schema()["$defs"].get(f"event-{name}")
    if option is None:
        yield f"{at}: there is no event {name!r:.60}"
    else:
        yield from _against(option, value, f"{at} ({name})")


def _length(sign: int) -> Any:
    def check(rule: dict, wanted: int, value: Any, at: str) -> Iterator[str]:
        if isinstance(value, (str, list)) and sign * len(value) < sign * wanted:
            yield f"{at}: has the length {len(value)}, not {'at least' if sign > 0 else 'at most'} {wanted}"

    return check


def _minimum(rule: dict, wanted: int, value: Any, at: str) -> Iterator[str]:
    if _is(value, "integer") and value < wanted:
        yield f"{at}: {value} is less than {wanted}"


def _pattern(rule: dict, wanted: str, value: Any, at: str) -> Iterator[str]:
    if isinstance(value, str) and not re.search(wanted, value):
        yield f"{at}: {value!r:.60} does not match {wanted}"


_KEYWORDS = {
    "$ref": _ref, "type": _type, "const": _const, "enum": _enum, "required": _required, "properties": _properties,
    "additionalProperties": _additional, "propertyNames": _property_names, "items": _items, "anyOf": _any_of,
    "oneOf": _one_of, "minLength": _length(1), "minItems": _length(1), "maxLength": _length(-1),
    "maxItems": _length(-1), "minimum": _minimum, "pattern": _pattern,
}  # fmt: skip


# ---- rules that a schema cannot express ------------------------------------------------------------------------


def _reference_problems(trace: dict) -> Iterator[str]:
    ids = [variant["id"] for variant in trace["variants"]]
    yield from (f"trace: two variants have the id {one!r}" for one in sorted({i for i in ids if ids.count(i) > 1}))
    for variant in trace["variants"]:
        yield from _Replay(variant).problems()


# For each kind of event: maps the fields that refer to things made by earlier events to the kinds of these things.
_REFERS = {
    "write": {"storage": "storage"}, "tensor": {"storage": "storage"}, "name": {"tensor": "tensor"},
    "retensor": {"id": "tensor", "storage": "storage"}, "unname": {"name": "name"},
    "state": {"storage": "storage", "after": "state"},
    "free": {"tensors": "tensor", "storages": "storage"}, "names": {"state": "state"},
    "save": {"node": "node", "state": "state", "storage": "storage"}, "release": {"ids": "save"},
    "preserve": {"id": "save", "storage": "storage"}, "stale": {"ids": "save"},
    "drop": {"nodes": "node", "states": "state"},
    "run": {"node": "node"}, "grad": {"state": "state"}, "raise": {"node": "node"},
}  # fmt: skip
# Maps a kind of event to the kind of thing that it makes; the field `id` has the id of that thing.
_MAKES = {"storage": "storage", "tensor": "tensor", "state": "state", "node": "node", "save": "save"}


class _Replay:
    """The things that the events of one variant have made so far."""

    def __init__(self, variant: dict) -> None:
        self.variant = variant
        self.made: dict[str, dict[str, dict]] = {kind: {} for kind in (*_MAKES.values(), "name")}
        self.versions: dict[str, int] = {}
        self.freed: set[tuple[str, str]] = set()
        self.promised: set[str] = set()  # all states that the events of the current step make

    def problems(self) -> Iterator[str]:
        at = f"variant {self.variant['id']!r:.40}"
        for index, event in enumerate(self.variant.get("before", [])):
            yield from self._event(event, f"{at}, before[{index}] ({event['do']})")
        peak = 0
        for number, step in enumerate(self.variant["steps"], 1):
            here = f"{at}, step {number}"
            if not step["line"] <= step["end"] <= len(self.variant["code"]):
                yield f"{here}: lines {step['line']} to {step['end']} of a program of {len(self.variant['code'])}"
            if step["peak"] < max(peak, step["allocated"]):
                yield f"{here}: the peak, {step['peak']}, is below the allocated bytes or an earlier peak"
            peak = step["peak"]
            for line, _ in step.get("passes", []):
                if line > len(self.variant["code"]):
                    yield f"{here}: a loop in line {line} of a program of {len(self.variant['code'])}"
            # Within a step, a node may precede the states that it reads and makes.
            self.promised = {event["id"] for event in step["events"] if event["do"] == "state"}
            for index, event in enumerate(step["events"]):
                yield from self._event(event, f"{here}, event {index} ({event['do']})")
                if event["do"] == "raise" and index + 1 < len(step["events"]):
                    yield f"{here}: raise is not the last event"

    def _event(self, event: dict, at: str) -> Iterator[str]:
        do = event["do"]
        for field, kind in _REFERS.get(do, {}).items():
            yield from self._known(event.get(field), kind, at)
        if do == "node":
            for state in (*event["ins"], event["out"]):
                if state not in self.promised:
                    yield from self._known(state, "state", at)
        if do == "group":
            yield from self._known(event["states"], "state", at)
        check = getattr(self, f"_{do}", None)
        if check:
            yield from check(event, at)
        if do in _MAKES:
            if event["id"] in self.made[_MAKES[do]]:
                yield f"{at}: the id {event['id']!r:.60} is taken"
            self.made[_MAKES[do]][event["id"]] = event

    def _known(self, wanted: str | list[str] | None, kind: str, at: str) -> Iterator[str]:
        for one in [wanted] if isinstance(wanted, str) else wanted or []:
            if one not in self.made[kind]:
                yield f"{at}: no {kind} {one!r:.60} so far"
            elif (kind, one) in self.freed:
                yield f"{at}: {kind} {one!r:.60} is freed"

    def _storage(self, event: dict, at: str) -> Iterator[str]:
        self.versions[event["id"]] = event.get("version", 0)
        yield from self._inside(event["values"], event["length"], at)

    def _write(self, event: dict, at: str) -> Iterator[str]:
        storage = self.made["storage"].get(event["storage"])
        if storage is None:
            return
        yield from self._inside(event["cells"], storage["length"], at)
        yield from self._runs(event, storage, at)
        before = self.versions[event["storage"]]
        if event["version"] != before if "unversioned" in event else event["version"] <= before:
            yield f"{at}: version {event['version']} after version {before}"
        self.versions[event["storage"]] = event["version"]

    def _inside(self, cells: dict, length: int, at: str) -> Iterator[str]:
        yield from (f"{at}: cell {index} of {length}" for index in cells if int(index) >= length)

    def _tensor(self, event: dict, at: str) -> Iterator[str]:
        if len(event["shape"]) != len(event["strides"]):
            yield f"{at}: {len(event['shape'])} sizes and {len(event['strides'])} strides"

    _save = _tensor

    def _preserve(self, event: dict, at: str) -> Iterator[str]:
        yield from self._tensor(event, at)
        save = self.made["save"].get(event["id"])
        original = self.made["storage"].get(save["storage"]) if save is not None else None
        if original is not None:
            yield from self._runs(event, original, at)

    def _runs(self, event: dict, storage: dict, at: str) -> Iterator[str]:
        for first, last in event.get("ranges", []):
            if not first <= last < storage["length"]:
                yield f"{at}: the range [{first}, {last}] is not inside a storage of {storage['length']}"

    def _name(self, event: dict, at: str) -> Iterator[str]:
        self.made["name"][event["name"]] = event
        yield from ()

    def _unname(self, event: dict, at: str) -> Iterator[str]:
        self.made["name"].pop(event["name"], None)
        yield from ()

    def _free(self, event: dict, at: str) -> Iterator[str]:
        self.freed |= {("tensor", one) for one in event["tensors"]} | {("storage", one) for one in event["storages"]}
        yield from ()
