"""The timeline: allocated bytes over events, stacked by name, with the peak marked, for one run or several.

    with memory.record() as recording:
        step()
    timeline.show(recording, title="One training step")
    timeline.show({"normal": recording, "in place": other}, compare="kind of operation")

A run is a recording, a `MemoryLog` of an allocator, or a list of `MemoryEvent`. Only bytes in its events are counted,
so blocks that exist before the first event and are never freed are not shown. This module writes a sentence for every
event; the script decides the layout.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import accumulate, groupby
from typing import Any

from memory_stage.figures.memory_events import EventRun, described, events_of, titled
from memory_stage.messages import message, said
from memory_stage.trace.amounts import bytes_shown
from memory_stage.web.element import Figure, FigureTable

TITLE = message("Bytes over events")
# the largest number of events of one run that are drawn one by one; in a longer run, small blocks are combined
MOST_EVENTS = 1_000


def show(
    runs: Any,
    *,
    title: str | None = None,
    ask: str | None = None,
    compare: str | None = None,
    capacity: int | None = None,
    device: str | None = None,
) -> Figure:
    """Return the timeline of one run, or of several.

    Args:
        runs: one run, or a dict of labels and runs.
        title: the name of the figure for a screen reader and in print.
        ask: a question to think about before scrubbing; backticks mark code.
        compare: the heading of the table of runs, such as "kind of operation".
        capacity: bytes of the device, drawn if it is close to the bytes in use.
        device: the device to show; needed only if the events are of several devices.

    Raises:
        TypeError: if ``runs`` contains something other than runs of memory events.
        ValueError: if there is no run, or if a run has no events.
    """
    given = dict(runs) if isinstance(runs, Mapping) else {"": runs}
    if not given:
        raise ValueError("timeline.show takes at least one run of memory events")
    names: dict[str, int] = {}
    events = {label: events_of(run, device) for label, run in given.items()}
    all_runs = {label: _thinned(described(run, names)) for label, run in events.items()}
    data = {
        "schema": "timeline/1",
        "title": titled(title or said(TITLE), (event for run in events.values() for event in run)),
        "ask": ask,
        "compare": compare,
        "capacity": capacity,
        "names": list(names),
        "runs": [
            {"label": label, "before": run.before, "reserved": run.reserved, "events": run.events}
            for label, run in all_runs.items()
        ],
    }
    first = next(iter(all_runs.values()))
    return Figure(
        data,
        sentence=first.events[first.peak_at]["say"],
        tables=[_runs_table(all_runs, compare), _names_table(first, list(names))],
        steps=[event["say"] for event in first.events] if len(first.events) <= 60 else (),
    )


def _runs_table(runs: Mapping[str, EventRun], compare: str | None) -> FigureTable:
    rows = [
        (
            label or said(message("this run")),
            bytes_shown(run.peak),
            str(run.peak_at + 1),
            bytes_shown(run.end),
            f"{len(run.events):,}",
        )
        for label, run in runs.items()
    ]
    head = (message("run"), message("peak"), message("at event"), message("at the end"), message("events"))
    first, *others = map(said, head)
    return FigureTable(said(message("Bytes of each run")), (compare or first, *others), rows)


def _names_table(run: EventRun, names: list[str]) -> FigureTable:
    """Return a table of the names whose blocks are allocated at the peak, with the most bytes first."""
    held: dict[int, int] = {}
    rest = 0
    for entry in run.before:
        if entry["name"] is None:
            rest += entry["bytes"]
        else:
            held[entry["name"]] = held.get(entry["name"], 0) + entry["bytes"]
    for entry in run.events[: run.peak_at + 1]:
        if entry["do"] == "rest":
            rest += entry["bytes"]
        elif entry["do"] in ("alloc", "free"):
            sign = 1 if entry["do"] == "alloc" else -1
            held[entry["name"]] = held.get(entry["name"], 0) + sign * entry["bytes"]
    ranked = sorted(((count, names[name]) for name, count in held.items() if count), reverse=True)
    rows = [(name, bytes_shown(count)) for count, name in ranked[:12]]
    others = sum(count for count, _ in ranked[12:]) + rest
    if others:
        rows.append((said(message("others")), bytes_shown(others)))
    caption = said(message("Allocated bytes by name at the peak, event {event}", event=run.peak_at + 1))
    return FigureTable(caption, (said(message("name")), said(message("bytes"))), rows)


def _thinned(run: EventRun, most: int = MOST_EVENTS) -> EventRun:
    """Reduce a run to about ``2 * most`` events by combining consecutive events of blocks that are too small to see.

    A combined event has the sum of the changes and the highest total, so totals and the peak stay exact.
    """
    if len(run.events) <= most:
        return run
    sizes = sorted((entry["bytes"] for entry in run.events if "block" in entry), reverse=True)
    least = sizes[min(most // 2, len(sizes) - 1)] if sizes else 0
    if sum(size >= least for size in sizes) > most:  # too many blocks have at least this size
        least += 1
    at_once = 2 * len(run.events) // most

    def is_seen(entry: dict[str, Any]) -> bool:
        return entry["bytes"] >= least if "block" in entry else entry["do"] != "note"

    events: list[dict[str, Any]] = []
    now = sum(block["bytes"] for block in run.before)
    for seen, group in groupby(run.events, is_seen):
        entries = list(group)
        if seen:
            events += entries
            now += sum(map(_change, entries))
            continue
        for at in range(0, len(entries), at_once):
            events.append(_combine(entries[at : at + at_once], now))
            now += events[-1]["bytes"]
    small = {"name": None, "block": 0}
    before = [block if block["bytes"] >= least else {**block, **small} for block in run.before]
    return replace(run, events=events, before=before, peak_at=_peak_at(events, before, run.peak))


def _change(entry: dict[str, Any]) -> int:
    """Return the change of the allocated bytes by an event."""
    return {"alloc": 1, "free": -1, "rest": 1}.get(entry["do"], 0) * entry.get("bytes", 0)


def _combine(entries: list[dict[str, Any]], before: int) -> dict[str, Any]:
    """Combine events of small blocks into one. ``before`` is the number of bytes allocated before them."""
    totals = list(accumulate(map(_change, entries)))
    now, top = totals[-1], max(0, *totals)
    size = bytes_shown(abs(now))
    change = message("the same number")
    if now:
        change = message("{size} more", size=size) if now > 0 else message("{size} fewer", size=size)
    combined = message(
        "{count} events of small blocks: {change}, {total} are allocated.",
        count=f"{len(entries):,}",
        change=change,
        total=bytes_shown(before + now),
    )
    return {"do": "rest", "bytes": now, "top": top, "count": len(entries), "say": said(combined)}


def _peak_at(events: list[dict[str, Any]], before: list[dict[str, Any]], peak: int) -> int:
    """Return the index of the first event, single or combined, at which ``peak`` bytes are allocated."""
    now = sum(block["bytes"] for block in before)
    for index, entry in enumerate(events):
        if entry["do"] == "rest" and now + entry["top"] == peak:
            return index
        now += _change(entry)
        if now == peak:
            return index
    return 0
