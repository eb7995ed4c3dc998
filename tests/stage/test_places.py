"""Space keeps its places: nothing moves while stepping or between variants, in whatever order steps are looked at."""

from __future__ import annotations

import pytest

from minitensor.stage import picture
from tests.stage import drawing, pages

# In these at most ten storages are there at once: each has a place of its own for the whole trace.
SMALL = [name for name in pages.NAMES if name not in ("branches", "many-tensors")]
WIDTHS = (288, 760, 1000)


def boxes(svg: str) -> dict[tuple[str, str], tuple]:
    """The first box of everything that stands for something: a tray, a tensor, a capsule, an operation."""
    found = {}
    for mark in drawing.marks(svg):
        if mark.kind == "rect" and mark.owner:
            found.setdefault(mark.owner, (mark.x, mark.y, mark.w, mark.h))
    return found


def moves(trace: dict, width: int) -> tuple[list[str], list[str], int]:
    """What moved of memory, what moved of the history, and how many things were seen."""
    places: dict[tuple, tuple] = {}
    moved: dict[str, list[str]] = {"memory": [], "history": []}
    for number, variant in enumerate(trace["variants"]):
        storage_of = {}
        for step, happened in enumerate([{"events": variant.get("before", [])}, *variant["steps"]]):
            for event in happened["events"]:
                if event["do"] in ("tensor", "retensor", "save", "preserve") and "storage" in event:
                    storage_of[event["id"]] = event["storage"]
            if not step or (step % 8 and len(variant["steps"]) > 20):  # of a long program every eighth
                continue
            for (kind, id_), box in boxes(picture.svg(trace, number, step - 1, width)).items():
                # a tensor that goes to another storage goes to its place; saved tensors that are equal share a row
                at = [storage_of.get(each) for each in id_.split()] if kind in ("tensor", "saved") else []
                key = (kind, id_, *at, number if kind == "saved" else None)
                if places.setdefault(key, box) != box:
                    what = "history" if kind == "node" else "memory"
                    moved[what].append(f"{kind} {id_} at step {step} of {variant['id']}: {places[key]} -> {box}")
    return moved["memory"], moved["history"], len(places)


@pytest.mark.parametrize("name", SMALL)
def test_nothing_in_memory_moves(name):
    for width in WIDTHS:
        memory, history, seen = moves(pages.trace(name), width)
        assert memory == [], f"at {width}px"
        assert seen >= 3
        if width > 500 and name != "marks":  # on a phone, and with ten storages, the history makes room for them
            assert history == [], f"at {width}px"


def test_a_move_is_noticed():
    trace = pages.trace("many-tensors")  # too many storages for a place each: those that are there close up
    memory, _, _ = moves(trace, 1000)
    assert memory


def test_a_frame_is_the_same_in_whatever_order_frames_are_asked_for(show):
    """Memory is made from the last frame that was looked at, or from one that was kept."""
    page = show("three")
    for name in ("loop", "preserved"):
        assert page.evaluate("differOutOfOrder", pages.trace(name)) == [], name
