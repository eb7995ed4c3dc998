"""Figures for paper that show recorded benchmarks, with the machine and the date of the measurement.

    record = json.loads(Path("../facts/benchmarks.json").read_text(encoding="utf-8"))
    bench_figure.article(record)      # 100 additions: time and peak bytes, normal and in place
    bench_figure.dispatch(record)     # the time of one operation on a small tensor, relative to another library
    bench_figure.curves(record)       # time and bytes against size and against depth
    bench_figure.everything(record)   # all of them on one page

``python -m benchmarks --record`` writes a record. Colours and hatches are those of the stage, as in
:mod:`memory_stage.figures.paper`; each kind of operation looks the same in all figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memory_stage.figures.paper import blank, style, tokens
from memory_stage.messages import message, said

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Record = Mapping[str, Any]

#: Maps a kind of operation to the number of its colour, the hatch of its bars, and the marker of its points.
_LOOKS = {"out of place": (1, "", "o"), "in place": (2, "////", "s"), "view": (3, "...", "^")}
_ARTICLE = {"out of place": message("out of place"), "in place": message("in place")}
_VIEWS = ("reshape", "transpose")
_OURS = "minitensor"


def article(record: Record, *, width: float = 6.5, height: float = 3.0) -> Figure:
    """Draw the time of 100 additions in each library, and their peak memory beyond that of the operands.

    Args:
        record: a record that ``python -m benchmarks --record`` has written.
        width, height: the size in inches.

    Raises:
        ImportError: if matplotlib is not installed.
        ValueError: if the record does not contain this benchmark.
    """
    figure = blank(width, height)
    time, peak = figure.subplots(1, 2, sharey=True)
    _article(record, time, peak)
    _source(figure, record)
    return figure


def dispatch(record: Record, *, over: str = "torch", width: float = 6.5, height: float = 3.4) -> Figure:
    """Draw the times of operations on a 3x4 float32 tensor, as a ratio of minitensor's time to that of ``over``.

    A red mark is the target for the ratio.

    Arguments and errors are those of :func:`article`.
    """
    figure = blank(width, height)
    _dispatch(record, over, figure.subplots())
    _source(figure, record)
    return figure


def curves(record: Record, *, width: float = 6.5, height: float = 3.0) -> Figure:
    """Draw three panels with fitted lines: time against the size of a tensor, and time and bytes against the depth of a
    graph.

    Arguments and errors are those of :func:`article`.
    """
    figure = blank(width, height)
    _curves(record, *figure.subplots(1, 3))
    _source(figure, record)
    return figure


def everything(record: Record, *, over: str = "torch", width: float = 6.5, height: float = 9.0) -> Figure:
    """Draw the three other figures on one page. Arguments and errors are those of :func:`article`."""
    figure = blank(width, height)
    parts: Any = figure.subfigures(3, 1, height_ratios=[3.0, 3.4, 2.8])
    top, middle, bottom = parts
    for part in (top, middle, bottom):
        part.set_facecolor(tokens()["paper"])
    _article(record, *top.subplots(1, 2, sharey=True))
    _dispatch(record, over, middle.subplots())
    _curves(record, *bottom.subplots(1, 3))
    _source(figure, record)
    return figure


# ---------- the panels ----------


def _article(record: Record, time: Axes, peak: Axes) -> None:
    rows = _rows(record, "article")
    libraries = _libraries(rows)
    for axes, suffix, scale in ((time, "", 1e3), (peak, ", peak", 2**-20)):
        _style(axes, "x")
        top = 0.0
        for offset, name in zip((-0.19, 0.19), _ARTICLE, strict=True):
            spreads = [_spread(rows, name + suffix, library) for library in libraries]
            values = [spread["median"] * scale for spread in spreads]
            low = [(spread["median"] - spread["low"]) * scale for spread in spreads]
            high = [(spread["high"] - spread["median"]) * scale for spread in spreads]
            ends = values if suffix else [spread["high"] * scale for spread in spreads]
            top = max([top, *ends])
            axes.barh(
                [row + offset for row in range(len(libraries))],
                values,
                height=0.36,
                xerr=None if suffix else (low, high),
                error_kw={"linewidth": 0.8, "ecolor": tokens()["ink"]},
                label=said(_ARTICLE[name]),
                **_surface(name),
            )
            for row, (value, end) in enumerate(zip(values, ends, strict=True)):
                _number(axes, end, row + offset, f"{value:.3g}")
        axes.set_xlim(0, top * 1.22 or 1)
        title = message("peak beyond the operands, MiB") if suffix else message("time, ms")
        axes.set_title(said(title), loc="left", fontsize=9)
    time.set_yticks(range(len(libraries)), libraries)
    time.invert_yaxis()
    time.legend(loc="upper left", bbox_to_anchor=(0, -0.08), ncols=2, frameon=False, fontsize=8)


def _dispatch(record: Record, over: str, axes: Axes) -> None:
    rows = [row for row in _rows(record, "dispatch") if row["over"] == over]
    if not rows:
        raise ValueError(f"the record compares no operation with {over!r}")
    _style(axes, "x")
    for number, row in enumerate(rows):
        kind, ratio = _kind(row["name"]), row["ratio"]
        axes.barh(
            number,
            ratio["median"],
            height=0.62,
            xerr=([ratio["median"] - ratio["low"]], [ratio["high"] - ratio["median"]]),
            error_kw={"linewidth": 0.8, "ecolor": tokens()["ink"]},
            label=kind if kind not in axes.get_legend_handles_labels()[1] else None,
            **_surface(kind),
        )
        if row["most"] is not None:
            axes.plot([row["most"]] * 2, [number - 0.4, number + 0.4], color=tokens()["red"], linewidth=1.6)
        _number(axes, max(ratio["high"], row["most"] or 0), number, f"{ratio['median']:.2f}")
    axes.axvline(1, color=tokens()["ink"], linewidth=1)
    axes.set_yticks(range(len(rows)), [row["name"] for row in rows])
    axes.invert_yaxis()
    axes.set_xlim(0, max(1.1, *(max(row["ratio"]["high"], row["most"] or 0) for row in rows)) * 1.1)
    axes.set_title(f"one operation on 3x4 float32: time, {over} = 1 (red: the target)", loc="left", fontsize=9)
    axes.legend(loc="lower right", frameon=False, fontsize=8)


def _curves(record: Record, by_size: Axes, by_depth: Axes, graph: Axes) -> None:
    found = {curve["name"]: curve for curve in record["subjects"].get("curves", {}).get("curves", ())}
    if not found:
        raise ValueError("the record has no curves")
    panels = (
        (by_size, "time, s, by bytes of a tensor", ("add, seconds", "add_, seconds")),
        (by_depth, "time, s, by depth", ("forward, seconds", "backward, seconds")),
        (graph, "bytes of a graph, by depth", ("graph, bytes",)),
    )
    for axes, title, names in panels:
        _style(axes, "both")
        for (number, _, mark), name in zip(_LOOKS.values(), names, strict=False):
            curve, colour = found[name], tokens()[f"a{number}"]
            x, y = zip(*curve["points"], strict=True)
            axes.plot(x, [curve["fixed"] + curve["slope"] * each for each in x], color=colour, linewidth=1)
            axes.plot(x, y, mark, color=colour, markersize=3.5, markerfacecolor="none", label=name.partition(",")[0])
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_title(title, loc="left", fontsize=9)
        if len(names) > 1:
            axes.legend(loc="upper left", frameon=False, fontsize=8)


# ---------- reading a record ----------


def _rows(record: Record, subject: str) -> Sequence[Mapping[str, Any]]:
    rows = record["subjects"].get(subject, {}).get("rows", ())
    if not rows:
        raise ValueError(f"the record has no benchmark {subject!r}")
    return rows


def _libraries(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return minitensor and those other libraries for which the record has times and bytes."""
    others = {row["over"]: None for row in rows}
    wanted = [f"{name}{suffix}" for name in _ARTICLE for suffix in ("", ", peak")]
    return [_OURS, *(each for each in others if all(_row(rows, name, each) for name in wanted))]


def _kind(name: str) -> str:
    operation = name.partition(",")[0]
    return "view" if operation in _VIEWS else "in place" if operation.endswith("_") else "out of place"


def _row(rows: Sequence[Mapping[str, Any]], name: str, over: str) -> Mapping[str, Any] | None:
    return next((row for row in rows if row["name"] == name and row["over"] == over), None)


def _spread(rows: Sequence[Mapping[str, Any]], name: str, library: str) -> Mapping[str, float]:
    """Return the median and the range that ``library`` has in the benchmark ``name``.

    A row compares minitensor with one other library. Minitensor's values are read from the first row with this name.
    """
    side = "ours" if library == _OURS else "theirs"
    return next(row[side] for row in rows if row["name"] == name and library in (_OURS, row["over"]))


# ---------- style ----------


def _style(axes: Axes, grid: Any) -> None:
    style(axes)
    axes.tick_params(labelsize=8)
    axes.grid(True, axis=grid, color=tokens()["rule"], linewidth=0.8)


def _surface(kind: str) -> dict[str, Any]:
    number, hatch, _ = _LOOKS[kind]
    return {"facecolor": tokens()[f"t{number}"], "edgecolor": tokens()[f"a{number}"], "hatch": hatch, "linewidth": 0.8}


def _number(axes: Axes, x: float, y: float, text: str) -> None:
    axes.annotate(text, (x, y), (4, 0), textcoords="offset points", va="center", fontsize=8, color=tokens()["ink"])


def _source(figure: Figure, record: Record) -> None:
    """Write the machine, the versions and the date of the measurement below the figure."""
    machine, libraries = record["machine"], record["libraries"]
    measured = {row["over"] for subject in record["subjects"].values() for row in subject["rows"]}
    versions = [f"{name} {_version(name, libraries[name])}".strip() for name in libraries if name in measured]
    figure.supxlabel(
        said(
            message(
                "{processor}, {cores} cores; Python {python}; {versions}; median of {rounds} rounds; {date}",
                processor=machine["processor"],
                cores=machine["cores"],
                python=record["python"],
                versions=", ".join(versions),
                rounds=record["rounds"],
                date=record["date"],
            )
        ),
        fontsize=7,
        color=tokens()["muted"],
        wrap=True,
    )


def _version(name: str, versions: Mapping[str, str]) -> str:
    package = next((each for each in versions if each.startswith(name)), name)  # such as paddlepaddle for paddle
    return versions.get(package, "").partition("+")[0]
