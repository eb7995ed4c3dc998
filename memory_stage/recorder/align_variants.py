"""Rename states and nodes of several recordings so that one picture can show all recordings.

Each recording numbers its states and nodes from 1, and the picture reserves one position for each id. If two variants
use an id for different states or nodes, the later variant gets a new id. Otherwise the picture would draw both with the
label or the edges of the first.
"""

from __future__ import annotations

from typing import Any

Event = dict[str, Any]


def align(variants: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rename states and nodes in place, and return the variants.

    Afterwards, all states with the same id have the same label, and all nodes with the same id the same edges.
    """
    known: dict[str, Any] = {}
    for variant in variants:
        own: dict[str, str] = {}
        for events in (variant.get("before", []), *(step["events"] for step in variant["steps"])):
            for event in events:  # states are renamed first, because a node may precede the state that it makes
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


def _id_for(id_: str, content: Any, known: dict[str, Any]) -> str:
    """Return ``id_``; if another variant uses it for other ``content``, return it with a number appended."""
    candidate, number = id_, 1
    while known.setdefault(candidate, content) != content:
        number += 1
        candidate = f"{id_}.{number}"
    return candidate
