"""What each operation of Paddle saves for backward: a table that was learned from Paddle, one operation at a time.

Paddle shows nobody what a node saved. But it hands each tensor that it is about to save to a hook, where one is set,
and so ``facts/paddle_saved.py`` called each operation on tensors of its own and noted which of its arguments and
results came to the hook. Nothing of the kind is done in a program that is watched: with a hook set, Paddle saves
otherwise.

A row says, for an operation, a kind of node, and the kinds of its arguments, what is saved:

* ``in 0``: the tensor that is argument 0 (``in 0.2``: the third of the list that is argument 0)
* ``out 0``: result 0
* ``copy 0``: argument 0 as it was before the operation overwrote it, copied
* ``hidden``: a tensor that neither goes in nor comes out, such as the mask of ``dropout``
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from importlib import resources
from typing import Any

#: In the kinds of a call: a list of tensors one of which wants a gradient.
_LISTED = re.compile(r"\[[^]]*T")

#: Kinds of arguments: a tensor that wants a gradient, one that wants none, a list of kinds, anything else.
WANTS, WANTS_NONE, OTHER = "T", "t", "."


def signature(arguments: tuple[Any, ...], keywords: dict[str, Any], is_tensor: Any) -> str:
    """The kinds of a call's arguments: ``Tt..``, ``[TT].``; tensors among keywords as ``T,y=t``."""
    named = {name: _kind(each, is_tensor) for name, each in keywords.items()}
    ends = "".join(f",{name}={kind}" for name, kind in named.items() if kind != OTHER)
    return "".join(_kind(each, is_tensor) for each in arguments) + ends


def inputs(arguments: tuple[Any, ...], keywords: dict[str, Any], is_tensor: Any) -> dict[str, Any]:
    """The tensors among a call's arguments, by their paths; those among keywords by their names."""
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
    """The tensors among arguments or results, with the path of each: ``0``, ``0.2``."""
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
    """Of the versions that the table was learned from, the one that stands for ``version``: itself, else the last
    that is not newer, else the first.
    """
    learned = sorted(_table()["versions"], key=_number)
    return ([each for each in learned if _number(each) <= _number(version)] or learned[:1])[-1]


@functools.cache
def single_nodes(version: str) -> frozenset[str]:
    """The kinds of nodes that send one gradient for each input, and no list of them.

    Where a node sends a list, Paddle 3.3 does not take back from a hook what it has given to it.
    """
    rows: dict[str, dict[str, Any]] = _table()["versions"][version_used(version)]
    listed = {key.split()[1] for key, kinds in rows.items() if any(_LISTED.search(each) for each in kinds)}
    return frozenset(key.split()[1] for key in rows) - listed


def _plain(kinds: str) -> str:
    """Whoever wants a gradient, and however many arguments that are no tensors stand at the end."""
    return kinds.replace(WANTS_NONE, WANTS).rstrip(OTHER)


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:3] if part.isdigit())


def saves(version: str, op: str, node: str, kinds: str) -> list[str] | None:
    """What a call saves; None where the table does not say.

    Args:
        op: the function of Paddle that was called, as ``multiply``.
        node: the kind of node it made, as ``MultiplyGradNode``.
        kinds: of its arguments, as :func:`signature` gives them.
    """
    rows: dict[str, list[str]] = _table()["versions"][version_used(version)].get(f"{op} {node}", {})
    if kinds in rows:
        return rows[kinds]
    # Which of the arguments want a gradient seldom matters: where it was never seen to, it does not.
    alike = [row for known, row in rows.items() if _plain(known) == _plain(kinds)]
    return alike[0] if alike and all(row == alike[0] for row in alike) else None
