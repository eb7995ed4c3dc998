"""A picture as data: its boxes and texts, their positions, and the objects that they represent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

SVG = "{http://www.w3.org/2000/svg}"
STANDS_FOR = (
    "storage",
    "tensor",
    "saved",
    "node",
)  # the more specific attribute comes first, because a saved row also has the id of its node


@dataclass(frozen=True)
class Mark:
    """A box or a text of a picture, in the order of drawing.

    Attributes:
        kind: "rect" or "text".
        said: the text, in its short form if it was shortened; "" for a box.
        owner: the represented object, such as ("tensor", "t1"), or None.
        x, y, w, h: the box. For a text, a point inside the text, and a size of zero.
        fill, stroke: names of colours, "url" for a pattern, or "none".
        style: the whole style attribute.
    """

    kind: str
    said: str
    owner: tuple[str, str] | None
    x: float
    y: float
    w: float
    h: float
    fill: str
    stroke: str
    style: str


def marks(svg: str) -> list[Mark]:
    """Return every box and every text of a picture, without those of patterns."""
    return list(_marks(ElementTree.fromstring(svg), 0.0, 0.0, None))


def _marks(node: ElementTree.Element, dx: float, dy: float, owner: tuple[str, str] | None) -> Iterator[Mark]:
    if node.tag == f"{SVG}defs":
        return
    moved = re.fullmatch(r"translate\((\S+) (\S+)\)", node.get("transform", ""))
    if moved:
        dx, dy = dx + float(moved[1]), dy + float(moved[2])
    owner = next(((key, node.get(f"data-{key}")) for key in STANDS_FOR if node.get(f"data-{key}")), owner)
    kind = node.tag.removeprefix(SVG)
    if kind in ("rect", "text"):
        style = node.get("style", "")
        x, y = float(node.get("x")) + dx, float(node.get("y")) + dy
        if kind == "text":
            x += {"middle": 0, "end": -3}.get(node.get("text-anchor"), 3)
            y -= 4
        said = "".join([node.text or "", *(child.tail or "" for child in node)])
        size = float(node.get("width", 0)), float(node.get("height", 0))
        yield Mark(kind, said, owner, x, y, *size, _colour(style, "fill"), _colour(style, "stroke"), style)
    for child in node:
        yield from _marks(child, dx, dy, owner)


def _colour(style: str, which: str) -> str:
    found = re.search(rf"(?:^|;){which}:(?:var\(--(\w+)|(url|none))", style)
    return (found[1] or found[2]) if found else "none"
