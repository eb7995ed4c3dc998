"""Test that the order of the parts of a picture is the same at every step.

Only things that exist take space, so rows appear and disappear. Nothing moves horizontally, and the vertical order
never changes. During backward, nothing moves at all.
"""

from __future__ import annotations

import re

import pytest

import memory_stage as stage
from memory_stage.web import picture
from tests.support.web import drawing, pages

WIDTHS = (288, 760, 1000)


def boxes(svg: str) -> dict[tuple[str, str], tuple]:
    """Return the first box of every storage, tensor, saved tensor and operation."""
    found = {}
    for mark in drawing.marks(svg):
        if mark.kind == "rect" and mark.owner:
            found.setdefault(mark.owner, (mark.x, mark.y, mark.w, mark.h))
    return found


def shown(trace: dict, number: int, width: int) -> list[dict[tuple, tuple]]:
    """Return the boxes of each step of a variant, or of every eighth step of a long program. If a tensor
    moves to another storage, its box there counts as a different one.
    """
    variant, storage_of, found = trace["variants"][number], {}, []
    for step, happened in enumerate([{"events": variant.get("before", [])}, *variant["steps"]]):
        for event in happened["events"]:
            if event["do"] in ("tensor", "retensor", "save", "preserve") and "storage" in event:
                storage_of[event["id"]] = event["storage"]
        if not step or (step % 8 and len(variant["steps"]) > 20):
            continue
        placed = {}
        for (kind, id_), box in boxes(picture.svg(trace, number, step - 1, width)).items():
            # saved tensors that are equal share a row
            at = [storage_of.get(each) for each in id_.split()] if kind in ("tensor", "saved") else []
            placed[(kind, id_, *at)] = box
        found.append(placed)
    return found


def moved_across(steps: list[dict[tuple, tuple]], kinds: tuple[str, ...]) -> list[str]:
    places: dict[tuple, tuple] = {}
    return [
        f"{key}: {places[key]} -> {(x, w)}"
        for placed in steps
        for key, (x, _, w, _) in placed.items()
        if key[0] in kinds and places.setdefault(key, (x, w)) != (x, w)
    ]


def changed_order(steps: list[dict[tuple, tuple]], kinds: tuple[str, ...]) -> list[str]:
    """Return pairs whose vertical order changes."""
    above: set[tuple] = set()
    for placed in steps:
        mine = sorted((box[1], key) for key, box in placed.items() if key[0] in kinds)
        above |= {(one, other) for i, (y, one) in enumerate(mine) for z, other in mine[i + 1 :] if y < z}
    return [f"{one} and {other}" for one, other in above if (other, one) in above and one < other]


@pytest.mark.parametrize("name", pages.NAMES)
def test_nothing_moves_horizontally_and_the_vertical_order_never_changes(name):
    trace = pages.trace(name)
    for width in WIDTHS:
        seen = 0
        for number in range(len(trace["variants"])):
            steps = shown(trace, number, width)
            seen += sum(map(len, steps))
            # The box of a storage is as wide as its cells. In a narrow picture it also changes with the arrows.
            across = ("tensor", "saved", "node", *(("storage",) if width > 500 else ()))
            assert moved_across(steps, across) == [], f"at {width}px"
            assert changed_order(steps, ("storage",)) == [], f"at {width}px"
            assert changed_order(steps, ("tensor", "saved")) == [], f"at {width}px"
        assert seen >= 3


def test_the_check_notices_a_move_and_a_change_of_order():
    one = {("tensor", "a"): (0, 0, 5, 5), ("tensor", "b"): (0, 9, 5, 5)}
    other = {("tensor", "a"): (0, 9, 6, 5), ("tensor", "b"): (0, 0, 5, 5)}
    assert moved_across([one, other], ("tensor",)) == ["('tensor', 'a'): (0, 5) -> (0, 6)"]
    assert changed_order([one, other], ("tensor",)) == ["('tensor', 'a') and ('tensor', 'b')"]
    assert changed_order([one, one], ("tensor",)) == []


@pytest.mark.parametrize("name", [name for name in pages.NAMES if name not in ("branches", "many-tensors")])
def test_nothing_moves_between_two_steps_of_backward(name):
    """Unless parts are folded, the first picture of backward reserves the space that the later ones need."""
    trace = pages.trace(name)
    for width in WIDTHS:
        for number, variant in enumerate(trace["variants"]):
            places: dict[tuple, tuple] = {}
            height = None
            for step, happened in enumerate(variant["steps"]):
                if happened["phase"] != "backward":
                    places, height = {}, None
                    continue
                svg = picture.svg(trace, number, step, width)
                for key, (x, y, w, _) in boxes(svg).items():
                    assert places.setdefault(key, (x, y, w)) == (x, y, w), f"{key} at step {step + 1}, {width}px"
                now = re.search(r' height="(\d+)"', svg)[1]
                assert height in (None, now), f"step {step + 1} at {width}px"
                height = now


def test_a_row_exists_only_while_it_contains_something():
    """A new storage gets a new position, and a freed storage disappears a step later."""
    data = stage.record("x = mt.ones([2])\ny = x + 1\ndel y\nz = 1").data
    heights = [int(re.search(r' height="(\d+)"', picture.svg(data, step=step))[1]) for step in range(4)]
    assert heights[0] < heights[1] == heights[2] > heights[3] == heights[0]


def test_a_frame_does_not_depend_on_the_order_of_requests(show):
    """A frame is replayed from the last requested frame, or from a cached one."""
    page = show("three")
    for name in ("loop", "preserved"):
        assert page.evaluate("differOutOfOrder", pages.trace(name)) == [], name


def test_the_short_caption_of_a_parameter_begins_with_its_name():
    program = "def centred(batch):\n    batch.subtract_(batch.mean())\n    return batch\n"
    figure = stage.record(program + "x = mt.to_tensor([1.0, 2.0, 3.0])\ny = centred(x)")
    for width in WIDTHS:
        pictures = [
            picture.svg(figure.data, 0, step, width) for step in range(len(figure.data["variants"][0]["steps"]))
        ]
        names = {mark.said for svg in pictures for mark in drawing.marks(svg) if mark.said.startswith("batc")}
        assert names, width
        assert all(name.startswith("batch") and not name.startswith("batch i…") for name in names), names
