"""Figures for paper, drawn with matplotlib in the style of the stage: the timeline of bytes, and bars.

    figure = paper.timeline({"normal": log, "in place": other})
    figure.savefig("peak.pdf")

Every colour has a hatch, so that a figure is readable without colour. No function opens a window or changes
matplotlib's settings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from memory_stage.figures.memory_events import EventRun, described, events_of
from memory_stage.messages import Text, message, said
from memory_stage.trace.amounts import bytes_shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Styles 1 to 4 have the four colours, 5 to 8 the same colours again; each style has a different hatch.
_HATCHES = ("", "////", "...", "|||", "---", "\\\\\\\\", "oo", "+++")
_DASHES = ((0, (6, 3)), (0, (2, 2)), (0, (9, 3, 2, 3)), (0, (1, 3)))
_MOST_NAMES = 8


def tokens() -> dict[str, str]:
    """Return the stage's colours: ``ink``, ``muted``, ``a1`` to ``a4`` for lines, ``t1`` to ``t4`` for surfaces, ..."""
    from memory_stage.figures.inked import colours

    return colours("light")


def blank(width: float, height: float) -> Figure:
    """Return an empty figure with a size in inches."""
    from memory_stage.figures.inked import InkedFigure

    return InkedFigure(width, height)


def timeline(
    runs: Any,
    *,
    run: str | None = None,
    device: str | None = None,
    title: str | None = None,
    width: float = 6.5,
    height: float = 3.2,
) -> Figure:
    """Draw allocated bytes over events: one run stacked by name, with its peak marked, and other runs as outlines.

    Args:
        runs: the argument of ``memory_stage.figures.timeline.show``: a run of memory events, or a dict of labels and
            runs.
        run: the label of the run to stack; the first by default.
        device: the device to show; needed only if the events are of several devices.
        title: a title above the figure; none by default, because a paper has a caption.
        width, height: the size in inches.

    Raises:
        ImportError: if matplotlib is not installed.
        TypeError: if ``runs`` contains something other than runs of memory events.
        ValueError: if there is no run, if one has no events, or if ``run`` is not a label of ``runs``.
    """
    given = dict(runs) if isinstance(runs, Mapping) else {"": runs}
    if not given:
        raise ValueError("timeline takes at least one run of memory events")
    chosen = next(iter(given)) if run is None else run
    if chosen not in given:
        raise ValueError(f"there is no run {chosen!r}; the runs are {', '.join(map(repr, given))}")
    names: dict[str, int] = {}
    all_runs = {label: described(events_of(each, device), names) for label, each in given.items()}
    figure, axes = _axes(width, height)
    colour = tokens()
    main = all_runs[chosen]
    edges = range(len(main.events) + 1)
    below = [0] * len(main.events)
    for number, band in enumerate(_bands(main, list(names))):
        above = [b + h for b, h in zip(below, band.held, strict=True)]
        shown = look_of(number, band.is_rest)
        axes.stairs(above, edges, baseline=below, fill=True, label=_literal(said(band.name)), **shown)
        below = above
    for number, (label, other) in enumerate((label, each) for label, each in all_runs.items() if label != chosen):
        dash = _DASHES[number % len(_DASHES)]
        axes.stairs(
            _totals(other),
            range(len(other.events) + 1),
            baseline=None,
            color=colour["ink"],
            linewidth=1.3,
            linestyle=dash,
            label=_literal(said(message("{run}, peak {size}", run=label, size=bytes_shown(other.peak)))),
        )
    axes.annotate(
        said(message("peak {size}", size=bytes_shown(main.peak))),
        xy=(main.peak_at + 0.5, main.peak),
        xytext=(0, 10),
        textcoords="offset points",
        ha="center",
        fontweight="bold",
        arrowprops={"arrowstyle": "-|>", "color": colour["ink"], "linewidth": 0.8},
    )
    top = max(each.peak for each in all_runs.values())
    axes.set_xlim(0, max(len(each.events) for each in all_runs.values()))
    axes.set_ylim(0, max(1, top) * 1.18)
    axes.xaxis.set_major_locator(_whole_numbers())
    axes.set_xlabel(said(message("events")))
    _byte_axis(axes.yaxis, max(1, top))
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles[::-1], labels[::-1], loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    if title:
        axes.set_title(_literal(title), loc="left", fontweight="bold")
    return figure


def bars(
    values: Mapping[str, int],
    *,
    capacity: int | None = None,
    title: str | None = None,
    width: float = 6.5,
    height: float | None = None,
) -> Figure:
    """Draw a horizontal bar for each label, in the given order, with the number of bytes beside it.

    Args:
        values: a dict of labels and bytes.
        capacity: the bytes of the device. They are drawn as a line, with a cross at every longer bar.
        title, width, height: the same as in :func:`timeline`; by default the height depends on the number of bars.

    Raises:
        ImportError: if matplotlib is not installed.
        ValueError: if there is no bar, or a negative one.
    """
    if not values or min(values.values()) < 0:
        raise ValueError(f"bars takes at least one label, and bytes of 0 or more, not {dict(values)!r}")
    figure, axes = _axes(width, height or 0.6 + 0.38 * len(values))
    colour = tokens()
    top = max([*values.values(), capacity or 1])
    for row, count in enumerate(values.values()):
        axes.barh(row, count, height=0.62, **look_of(row))
        wrong = capacity is not None and count > capacity
        size: Text = bytes_shown(count)
        axes.annotate(
            said(message("{size} × does not fit", size=size) if wrong else size),
            xy=(count, row),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            color=colour["red" if wrong else "ink"],
            bbox={"facecolor": colour["paper"], "edgecolor": "none", "pad": 1},
        )
    if capacity is not None:
        axes.axvline(capacity, color=colour["ink"], linewidth=1.5)
        axes.annotate(
            said(message("capacity {size}", size=bytes_shown(capacity))),
            xy=(capacity, 1),
            xycoords=("data", "axes fraction"),
            xytext=(0, 4),
            textcoords="offset points",
            ha="center",
            fontweight="bold",
        )
    axes.set_yticks(range(len(values)), [_literal(label) for label in values])
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, top * (1.2 if capacity is None or capacity >= max(values.values()) else 1.4))
    _byte_axis(axes.xaxis, top)
    if title:
        axes.set_title(_literal(title), loc="left", fontweight="bold", pad=18 if capacity else 6)
    return figure


# ---------- style ----------


def _axes(width: float, height: float) -> tuple[Figure, Axes]:
    figure = blank(width, height)
    axes = figure.add_subplot()
    style(axes)
    return figure, axes


def style(axes: Axes) -> None:
    """Give axes the colours of the stage, with lines at the bottom and on the left only."""
    colour = tokens()
    axes.set_facecolor(colour["paper"])
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("bottom", "left"))
        spine.set_color(colour["line"])
    axes.tick_params(colors=colour["muted"], labelcolor=colour["ink"])
    axes.set_axisbelow(True)


def _whole_numbers() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(nbins="auto", integer=True)


def look_of(number: int, is_rest: bool = False) -> dict[str, Any]:
    """Return the colours and the hatch of style ``number``; if ``is_rest``, those of the band for all other names."""
    colour = tokens()
    if is_rest:
        return {"facecolor": colour["tn"], "edgecolor": colour["node"], "hatch": "xx", "linewidth": 0.8}
    look = number % 8
    alias = look % 4 + 1
    return {
        "facecolor": colour[f"t{alias}"],
        "edgecolor": colour[f"a{alias}"],
        "hatch": _HATCHES[look],
        "linewidth": 0.8,
    }


def _literal(text: str) -> str:
    """Escape a label, because matplotlib reads dollar signs as mathematics and hides labels that begin with _."""
    text = text.replace("$", r"\$")
    return f"\u200b{text}" if text.startswith("_") else text


def _byte_axis(axis: Any, top: int) -> None:
    """Set at most five ticks on an axis of bytes, at round numbers in one unit."""
    if top >= 1024:
        step = 1
        while top / step > 5:
            step *= 2
    else:
        step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500) if top / s <= 5)
    power = 0 if top < 100_000 else min(3, (int(top).bit_length() - 1) // 10)
    unit = ("B", "KiB", "MiB", "GiB")[power]
    ticks = list(range(0, int(top) + 1, step))
    axis.set_ticks(
        ticks, ["0", *(f"{tick / 1024**power:,.6g} {unit}" if power else f"{tick:,} B" for tick in ticks[1:])]
    )
    axis.grid(True, color=tokens()["rule"], linewidth=0.8)


# ---------- the stacked bands ----------


class _Band(NamedTuple):
    """One of the stacked bands.

    Attributes:
        held: the bytes after every event.
        is_rest: True for the band that is shared by all names without a separate band.
    """

    name: Text
    held: list[int]
    is_rest: bool = False


def _totals(run: EventRun) -> list[int]:
    return [sum(held) for held in zip(*(band.held for band in _bands(run, None)), strict=True)]


def _bands(run: EventRun, names: Sequence[str] | None) -> list[_Band]:
    """Return the bands. The names with the most bytes get one each, and the other names share one.

    Args:
        names: the names by index; None for a single band.
    """
    count = len(run.events)
    held: dict[int, list[int]] = {}
    changes = [(0, block["name"], block["bytes"]) for block in run.before]
    for index, entry in enumerate(run.events):
        if entry["do"] in ("alloc", "free"):
            changes.append((index, entry["name"], entry["bytes"] if entry["do"] == "alloc" else -entry["bytes"]))
    for index, name, change in changes:
        band = held.setdefault(name if names is not None else -1, [0] * count)
        band[index] += change
    for band in held.values():
        for index in range(1, count):
            band[index] += band[index - 1]
    if names is None:
        return [_Band("", held.get(-1, [0] * count))]
    ranked = sorted(held, key=lambda name: (-max(held[name]), name))
    own = ranked if len(ranked) <= _MOST_NAMES else ranked[: _MOST_NAMES - 1]
    bands = [_Band(names[name], held[name]) for name in sorted(own)]
    rest = ranked[len(own) :]
    if rest:
        others = message("{count} others", count=len(rest))
        sums = [sum(values) for values in zip(*(held[name] for name in rest), strict=True)]
        bands.append(_Band(others, sums, is_rest=True))
    return bands
