"""A figure for paper: the peak memory and the time of a step in data-parallel training, for each number of ranks.

    ranks_figure.cost({1: [...], 2: [...], 4: [...]})  # each list has a dict of measurements for each rank

Colours and hatches are those of the stage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from book_kit.figures.bench_figure import _style
from memory_stage.figures.paper import blank, look_of, tokens
from memory_stage.messages import Text, message, plural, said

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The measurements that are stacked in a bar of bytes, and in a bar of seconds. "on the way" are the bytes of buffers
#: for sending and receiving.
BYTES = ("parameters", "gradients", "activations", "on the way")
SECONDS = ("computing", "all-reduce")
_NAMES: dict[str, Text] = {
    "parameters": message("parameters"),
    "gradients": message("gradients"),
    "activations": message("activations"),
    "on the way": message("on the way"),
    "computing": message("computing"),
    "all-reduce": "all-reduce",
}


def cost(measured: Mapping[int, Sequence[Mapping[str, float]]], *, width: float = 6.5, height: float = 2.9) -> Figure:
    """Draw bytes and seconds for each number of ranks. Each measurement is the largest among the ranks.

    Args:
        measured: maps a number of ranks to a list with a dict for each rank. The keys of a dict are :data:`BYTES` and
            :data:`SECONDS`.
        width, height: the size in inches.

    Raises:
        ImportError: if matplotlib is not installed.
        ValueError: if ``measured`` is empty or lacks a rank.
    """
    if not measured or any(len(each) != count for count, each in measured.items()):
        raise ValueError("cost takes the measurements of every rank, for one or more numbers of ranks")
    figure = blank(width, height)
    left, right = figure.subplots(1, 2, sharey=True)
    most = {count: {name: max(each[name] for each in those) for name in those[0]} for count, those in measured.items()}
    _draw_stacked(left, most, BYTES, 2**-20, said(message("bytes per rank at the peak, MiB")))
    _draw_stacked(right, most, SECONDS, 1e3, said(message("time of a step, ms")))
    left.set_yticks(range(len(most)), [said(plural("{count} rank", "{count} ranks", count)) for count in most])
    left.invert_yaxis()
    return figure


def _draw_stacked(
    axes: Axes, rows: Mapping[int, Mapping[str, float]], names: Sequence[str], scale: float, title: str
) -> None:
    _style(axes, "x")
    ends: list[Any] = [0.0] * len(rows)
    for look, name in enumerate(names):
        values = [each[name] * scale for each in rows.values()]
        axes.barh(range(len(rows)), values, left=ends, height=0.6, label=said(_NAMES[name]), **look_of(look))
        ends = [end + value for end, value in zip(ends, values, strict=True)]
    for row, end in enumerate(ends):
        axes.annotate(
            f"{end:.3g}", (end, row), (4, 0), textcoords="offset points", va="center", fontsize=8, color=tokens()["ink"]
        )
    axes.set_xlim(0, max(ends) * 1.2 or 1)
    axes.set_title(title, loc="left", fontsize=9)
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.1), ncols=2, frameon=False, fontsize=8)
