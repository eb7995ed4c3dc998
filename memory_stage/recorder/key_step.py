"""Choose the key step, which a stage shows first, in print, and in pages without JavaScript.

* The author may choose the key step. Otherwise, if backward() failed because of a stale saved tensor, it is the step in
  which this tensor became stale. In all other cases it is the first step in which a write makes a saved tensor stale or
  changes the values of another name, or in which an error is raised. Without such a step it is the last write, and
  without any write the last step with the most names.
* Of several variants, the stage first shows the one whose key step has the highest rank, or the first such variant.
"""

from __future__ import annotations

from typing import Any, TypeAlias

Variant = dict[str, Any]
Event = dict[str, Any]

#: A step counted from 1, or the label of a variant and its step; None leaves the choice to the recorder.
Key: TypeAlias = int | tuple[str, int] | None

#: The ranks of a key step, the highest first.
_STALE, _SHARED, _WRITE, _NONE = range(4)


def name_key_steps(trace: dict[str, Any], chosen: Key = None) -> None:
    """Add a key step to each variant, and record in the trace which variant is shown first.

    Args:
        chosen: the step, counted from 1, of the variant that is shown first; or the label of a variant and its step.

    Raises:
        ValueError: if there is no such variant or step.
    """
    found = [_pick(variant) for variant in trace["variants"]]
    for variant, (_, step) in zip(trace["variants"], found, strict=True):
        variant["key"] = step
    opens = min(range(len(found)), key=lambda number: found[number][0])
    if chosen is not None:
        label, step = chosen if isinstance(chosen, tuple) else (None, chosen)
        if label is not None:
            opens = _number_of(trace["variants"], label)
        variant = trace["variants"][opens]
        variant["key"] = _check_step(step, len(variant["steps"])) - 1
    trace["opens"] = trace["variants"][opens]["id"]


def step_of_line(variant: Variant, line: int) -> int | None:
    """Return the step, counted from 1, that a stage shows first for a line; None if the line has no step.

    It is the last step of the line with a write or, without a write, the last step of the line.
    """
    steps = variant["steps"]
    of_line = [number for number, step in enumerate(steps, 1) if step["line"] <= line <= step["end"]]
    writing = [each for each in of_line if any(event["do"] == "write" for event in steps[each - 1]["events"])]
    return (writing or of_line)[-1] if of_line else None


def key_step(variant: Variant) -> int:
    """Return the variant's key step, counted from 0. If the trace has none, choose one."""
    return variant["key"] if "key" in variant else _pick(variant)[1]


def _number_of(variants: list[Variant], label: str) -> int:
    labels = [variant["label"] for variant in variants]
    if label not in labels:
        raise ValueError(f"key has the variant {label!r}, but the variants are {', '.join(map(repr, labels))}")
    return labels.index(label)


def _check_step(step: Any, count: int) -> int:
    if not isinstance(step, int) or isinstance(step, bool) or not 1 <= step <= count:
        raise ValueError(f"key must be the number of a step, from 1 to {count}, not {step!r}")
    return step


def _pick(variant: Variant) -> tuple[int, int]:
    """Return the rank of the key step, and the step, counted from 0."""
    cause = _cause(variant)
    if cause is not None:
        return _STALE, cause
    seen = _Seen()
    for event in variant.get("before", ()):
        seen.add(event)
    last_write: int | None = None
    most = names = 0
    for number, step in enumerate(variant["steps"]):
        events = step["events"]
        for event in events:
            seen.add(event)
        writes = [event for event in events if event["do"] == "write"]
        if any(event["do"] in ("stale", "raise") for event in events):
            return _STALE, number
        if any(seen.is_shared(event) for event in writes):
            return _SHARED, number
        if writes:
            last_write = number
        if len(seen.names) >= names:
            most, names = number, len(seen.names)
    return (_NONE, most) if last_write is None else (_WRITE, last_write)


def _cause(variant: Variant) -> int | None:
    """Return the step that made backward() fail: the first one that made a saved tensor of the failing node stale.

    Return None if backward() did not fail, or failed for another reason.
    """
    saved: dict[str, str] = {}  # maps the id of a saved tensor to its node
    stale: dict[str, int] = {}  # maps a node to the first step that made one of its saved tensors stale
    for number, step in enumerate([{"events": variant.get("before", ())}, *variant["steps"]], -1):
        for event in step["events"]:
            if event["do"] == "save" and event["node"] is not None:
                saved[event["id"]] = event["node"]
            elif event["do"] == "stale" and not event.get("unnoticed"):
                for each in event["ids"]:
                    stale.setdefault(saved.get(each, ""), number)
            elif event["do"] == "raise" and stale.get(event.get("node") or "", -1) >= 0:
                return stale[event["node"]]
    return None


class _Seen:
    """The names and tensors that exist after the events so far."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}  # maps a name to a tensor
        self.tensors: dict[str, Event] = {}

    def add(self, event: Event) -> None:
        do = event["do"]
        if do == "tensor":
            self.tensors[event["id"]] = event
        elif do == "retensor" and event["id"] in self.tensors:
            self.tensors[event["id"]] = {**self.tensors[event["id"]], **event}
        elif do == "name":
            self.names[event["name"]] = event["tensor"]
        elif do == "unname":
            self.names.pop(event["name"], None)
        elif do == "free":
            for tensor in event["tensors"]:
                self.tensors.pop(tensor, None)

    def is_shared(self, write: Event) -> bool:
        """True if two names show cells that were written."""
        written = write.get("ranges") or [[int(cell), int(cell)] for cell in write["cells"]]
        if not written:
            return False
        low, high = min(first for first, _ in written), max(last for _, last in written)
        showing = 0
        for tensor in map(self.tensors.get, self.names.values()):
            if tensor is not None and tensor["storage"] == write["storage"]:
                first, last = _reach(tensor)
                showing += first <= high and low <= last
        return showing > 1


def _reach(tensor: Event) -> tuple[int, int]:
    """Return the lowest and the highest cell that a tensor reads."""
    low = high = tensor["offset"]
    for size, stride in zip(tensor["shape"], tensor["strides"], strict=True):
        far = max(size - 1, 0) * stride
        low, high = low + min(far, 0), high + max(far, 0)
    return low, high
