"""Several recordings in one picture: what has one id has one place.

Each recording counts its states and nodes from 1. Where a variant has another one in second place than the variants
before it, it gets an id of its own: else the picture would draw it with the label, or the edges, of the first.
"""

from __future__ import annotations

from typing import Any

Event = dict[str, Any]


def apart(variants: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """``variants`` of a trace, where an id stands for states of one label, or for nodes with the same edges."""
    known: dict[str, Any] = {}
    for variant in variants:
        own: dict[str, str] = {}
        for events in (variant.get("before", []), *(step["events"] for step in variant["steps"])):
            for event in events:  # first, since a node may come before the state that it makes
                if event["do"] == "state":
                    own[event["id"]] = _id_for(event["id"], event["label"], known)
            for event in events:
                _rename(event, own, known)
    return variants


def _rename(event: Event, own: dict[str, str], known: dict[str, Any]) -> None:
    for key in ("state", "after", "node", "out"):
        if isinstance(event.get(key), str):
            event[key] = own.get(event[key], event[key])
    for key in ("states", "nodes", "ins"):
        if key in event:
            event[key] = [own.get(each, each) for each in event[key]]
    if event["do"] == "node":
        own[event["id"]] = _id_for(event["id"], (event["op"], *event["ins"], event["out"]), known)
    if event["do"] in ("state", "node"):
        event["id"] = own[event["id"]]


def _id_for(id_: str, what: Any, known: dict[str, Any]) -> str:
    """``id_``, or with a number behind it where another variant has it for something else than ``what``."""
    candidate, number = id_, 1
    while known.setdefault(candidate, what) != what:
        number += 1
        candidate = f"{id_}.{number}"
    return candidate
