"""Look up the tensors that each operation of Paddle saves for backward, in a table learned from Paddle.

Python cannot read the tensors that a node of Paddle saved. But if a hook is set (``register_saved_tensors_hooks``),
Paddle passes each tensor to the hook before it saves the tensor. ``facts/paddle_saved.py`` sets such a hook, calls each
operation and records which arguments and results the hook gets. A recorded program runs without such a hook, because
with a hook Paddle saves other tensors.

There is a row for each operation, kind of node, and kinds of the operation's arguments. It lists the saved tensors:

* ``in 0``: the tensor that is argument 0 (``in 0.2``: the third of the list that is argument 0)
* ``out 0``: result 0
* ``copy 0``: a copy of argument 0 from before the operation overwrote it
* ``hidden``: a tensor that is neither an argument nor a result, such as the mask of ``dropout``
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from importlib import resources
from typing import Any

#: Matches a list in the kinds of a call, if at least one of its tensors requires a gradient.
_LISTED = re.compile(r"\[[^]]*T")

#: The kinds of arguments: a tensor that requires a gradient, one that does not, and any other value. A list has
#: brackets.
WANTS, WANTS_NONE, OTHER = "T", "t", "."


def signature(arguments: tuple[Any, ...], keywords: dict[str, Any], is_tensor: Any) -> str:
    """Return the kinds of a call's arguments, as ``Tt..`` or ``[TT].``; a keyword argument ``y`` adds ``,y=t``."""
    named = {name: _kind(each, is_tensor) for name, each in keywords.items()}
    ends = "".join(f",{name}={kind}" for name, kind in named.items() if kind != OTHER)
    return "".join(_kind(each, is_tensor) for each in arguments) + ends


def inputs(arguments: tuple[Any, ...], keywords: dict[str, Any], is_tensor: Any) -> dict[str, Any]:
    """Return the tensors among a call's arguments, by their paths. Paths in keyword arguments begin with the name."""
    found = dict(paths(arguments, is_tensor))
    for name, each in keywords.items():
        found |= dict(paths(each, is_tensor, name))
    return found


def _kind(value: Any, is_tensor: Any) -> str:
    if is_tensor(value):
        return WANTS_NONE if value.stop_gradient else WANTS
    if isinstance(value, (list, tuple)) and any(map(is_tensor, value)):
        return f"[{''.join(_kind(each, is_tensor) for each in value)}]"
    return OTHER


def paths(value: Any, is_tensor: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the tensors among arguments or results, each with its path: ``0``, ``0.2``."""
    if is_tensor(value):
        yield path or "0", value
    elif isinstance(value, (list, tuple)):
        for i, each in enumerate(value):
            yield from paths(each, is_tensor, f"{path}.{i}" if path else str(i))


@functools.cache
def _table() -> dict[str, Any]:
    text = resources.files("memory_stage.engines.paddle").joinpath("saved.json").read_text(encoding="utf-8")
    table: dict[str, Any] = json.loads(text)
    return table


@functools.cache
def version_used(version: str) -> str:
    """Return the newest version in the table that is not newer than ``version``; the oldest if all are newer."""
    learned = sorted(_table()["versions"], key=version_parts)
    return ([each for each in learned if version_parts(each) <= version_parts(version)] or learned[:1])[-1]


@functools.cache
def single_nodes(version: str) -> frozenset[str]:
    """Return the kinds of nodes that send single gradients to their inputs and no list of gradients.

    Other nodes get no hook: Paddle 3.3 passes the list to a hook and then rejects the same list as the hook's result.
    """
    rows: dict[str, dict[str, Any]] = _table()["versions"][version_used(version)]
    listed = {key.split()[1] for key, kinds in rows.items() if any(_LISTED.search(each) for each in kinds)}
    return frozenset(key.split()[1] for key in rows) - listed


def _plain(kinds: str) -> str:
    """Return kinds without the marks of required gradients and without the values after the last tensor."""
    return kinds.replace(WANTS_NONE, WANTS).rstrip(OTHER)


def version_parts(version: str) -> tuple[int, ...]:
    """Return ``(2, 10, 0)`` for ``2.10.0``."""
    return tuple(int(part) for part in version.split(".")[:3] if part.isdigit())


def saves(version: str, op: str, node: str, kinds: str) -> list[str] | None:
    """Return the tensors that a call saves, in the notation of the table; None if the table does not contain the call.

    Args:
        op: the name of the called function, such as ``multiply``.
        node: the kind of the new node, such as ``MultiplyGradNode``.
        kinds: the kinds of its arguments, as :func:`signature` returns them.
    """
    rows: dict[str, list[str]] = _table()["versions"][version_used(version)].get(f"{op} {node}", {})
    if kinds in rows:
        return rows[kinds]
    # If all rows for these arguments agree, it does not matter which arguments require a gradient.
    alike = [row for known, row in rows.items() if _plain(known) == _plain(kinds)]
    return alike[0] if alike and all(row == alike[0] for row in alike) else None
