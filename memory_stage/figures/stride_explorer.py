"""The stride explorer. A click on an index shows its cell and the computation. Shape and strides can be changed.

    x = mt.arange(12).reshape([3, 4])
    stride_explorer.show(x, views={"x": x, "x.t()": x.t(), "x[:, 1:3]": x[:, 1:3]}, index=[1, 2])

The shapes, strides and offsets are those of the given tensors. A reader's input is checked by the engine's rule that
every element is inside the storage.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memory_stage.messages import listed, message, plural, said, sentences
from memory_stage.trace.cells import text_of
from memory_stage.web.element import Figure, FigureTable, filled, templates
from minitensor.engine.device.arrays import host_array

TITLE = message("From an index to a cell")
MOST_CELLS = 36
MOST_ELEMENTS = 64

# The figure's texts, for Python and for the page's script, which replaces each {key} by a value.
WORDS = {
    "element": message("Element {index} is cell {cell}, at byte {byte}: {sum} = {cell}."),
    "moving": message("One step further {steps}."),
    "step": message("along dimension {dimension} skips {count}"),
    "shared": message("{count} elements read this cell: a write through this view would be refused."),
    "ranks": message("shape {shape} and strides {strides} must have the same length"),
    "rank": message("the explorer draws at most 4 dimensions"),
    "many": message("the explorer draws 1 to {most} elements, and shape {shape} has another number of them"),
    "outside": message(
        "shape {shape}, strides {strides} and offset {offset} would read cell {cell}, but the storage has {count} "
        "cells, 0 to {last}"
    ),
    "numbers": message("{field}: whole numbers, such as 3, 4, are needed, not {text}"),
}


def show(
    tensor: Any,
    *,
    views: Mapping[str, Any] | None = None,
    index: Sequence[int] | None = None,
    title: str | None = None,
    ask: str | None = None,
) -> Figure:
    """Return an explorer for a tensor and for views of it.

    Args:
        tensor: a tensor whose storage has at most 36 elements.
        views: a dict of labels and views on the same storage; by default only the tensor. The first is shown first.
        index: the element that is selected at first; by default the last.
        title: the name of the figure for a screen reader and in print.
        ask: a question to think about before clicking; backticks mark code.

    Raises:
        ValueError: if the storage or a view is empty or too large to be drawn, a view has another storage, or there
            is no element at ``index``.
    """
    storage = tensor._storage
    chosen = dict(views) if views else {said(message("the tensor")): tensor}
    cells = host_array(storage.buffer).reshape(-1, order="A")
    if not 1 <= cells.size <= MOST_CELLS:
        raise ValueError(
            f"the storage must have 1 to {MOST_CELLS} elements for the stride explorer, not {cells.size:,}"
        )
    for label, view in chosen.items():
        if view._storage is not storage:
            raise ValueError(f"{label!r} has another storage than the tensor, so it is a copy and not a view")
        if not 1 <= view.size <= MOST_ELEMENTS or view.ndim > 4:
            raise ValueError(
                f"the stride explorer draws 1 to {MOST_ELEMENTS} elements in at most 4 dimensions, and {label!r} has "
                f"shape {view.shape}"
            )
    label, first = next(iter(chosen.items()))
    opens = [n - 1 for n in first.shape] if index is None else [int(i) for i in index]
    if len(opens) != first.ndim or not all(0 <= i < n for i, n in zip(opens, first.shape, strict=True)):
        raise ValueError(f"{label!r} of shape {first.shape} has no element of index {opens}")
    data = {
        "schema": "strides/1",
        "title": title or said(TITLE),
        "ask": ask,
        "itemsize": tensor.element_size(),
        "cells": [text_of(number) for number in cells.tolist()],
        "views": [
            {"label": label, "shape": view.shape, "strides": view.strides, "offset": view.offset}
            for label, view in chosen.items()
        ],
        "opens": opens,
        "words": templates(WORDS),
    }
    return Figure(data, sentence=_sentence(data), tables=[_views_table(data), _elements_table(data)])


def cell_of(view: Mapping[str, Any], index: Sequence[int]) -> int:
    """Return the cell of an element: the offset plus the sum of index times stride over all dimensions."""
    return view["offset"] + sum(i * stride for i, stride in zip(index, view["strides"], strict=True))


def _indexes(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    return itertools.product(*map(range, shape))


def _sentence(data: Mapping[str, Any]) -> str:
    """Return the first sentence of the figure. The page's script makes it from the same texts."""
    view, index = data["views"][0], data["opens"]
    cell = cell_of(view, index)
    terms = [str(view["offset"]), *(f"{i} × {stride}" for i, stride in zip(index, view["strides"], strict=True))]
    element = filled(WORDS["element"], index=str(index), cell=cell, byte=cell * data["itemsize"], sum=" + ".join(terms))
    sharers = sum(cell_of(view, each) == cell for each in _indexes(view["shape"]))
    if sharers > 1:
        return said(sentences([element, filled(WORDS["shared"], count=sharers)]))
    steps = [
        filled(
            WORDS["step"], dimension=dimension, count=plural("{count} cell", "{count} cells", abs(stride), count=stride)
        )
        for dimension, stride in enumerate(view["strides"])
    ]
    return said(sentences([element, filled(WORDS["moving"], steps=listed(steps))]) if steps else element)


def _views_table(data: Mapping[str, Any]) -> FigureTable:
    rows = [(view["label"], str(view["shape"]), str(view["strides"]), str(view["offset"])) for view in data["views"]]
    head = (message("view"), message("shape"), message("strides"), message("offset"))
    return FigureTable(said(message("Views of one storage")), tuple(map(said, head)), rows)


def _elements_table(data: Mapping[str, Any]) -> FigureTable:
    view = data["views"][0]
    caption = message(
        "Every element of shape {shape}, strides {strides}, offset {offset}",
        shape=str(view["shape"]),
        strides=str(view["strides"]),
        offset=view["offset"],
    )
    head = (message("index"), message("cell"), message("byte"), message("number"))
    rows = []
    for index in _indexes(view["shape"]):
        cell = cell_of(view, index)
        rows.append((str(list(index)), str(cell), str(cell * data["itemsize"]), data["cells"][cell]))
    return FigureTable(said(caption), tuple(map(said, head)), rows)
