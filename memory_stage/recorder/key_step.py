"""The step that a stage opens with, and that stands for it in print and where no script runs.

* An author names it. Otherwise it is the write that made stale what a backward that raised had asked for. Otherwise it
  is the first step at which a write makes stale what was saved, is refused, or changes what another name sees, too;
  otherwise the last write; otherwise the last step with most names.
* Of several variants the one opens that has the most telling step; of equals, the first.
"""

from __future__ import annotations

from typing import Any, TypeAlias

Variant = dict[str, Any]
Event = dict[str, Any]

#: A step counted from 1, or the label of a variant and its step; None leaves the choice to the recorder.
Key: TypeAlias = int | tuple[str, int] | None

#: How much a step tells, the most telling first.
_STALE, _SHARED, _WRITE, _NONE = range(4)


def name_key_steps(trace: dict[str, Any], chosen: Key = None) -> None:
    """Note in each variant its key step, and in the trace which variant opens.

    Args:
        chosen: the step, counted from 1, of the variant that opens; or the label of a variant and its step.

    Raises:
        ValueError: there is no such variant or step.
    """
    found = [_picked(variant) for variant in trace["variants"]]
    for variant, (_, step) in zip(trace["variants"], found, strict=True):
        variant["key"] = step
    opens = min(range(len(found)), key=lambda number: found[number][0])
    if chosen is not None:
        label, step = chosen if isinstance(chosen, tuple) else (None, chosen)
        if label is not None:
            opens = _number_of(trace["variants"], label)
        variant = trace["variants"][opens]
        variant["key"] = _checked(step, len(variant["steps"])) - 1
    trace["opens"] = trace["variants"][opens]["id"]


def opening(trace: dict[str, Any]) -> tuple[int, int]:
    """The numbers of the variant and of its step that are shown first, both counted from 0."""
    ids = [variant["id"] for variant in trace["variants"]]
    number = ids.index(trace["opens"]) if "opens" in trace else 0
    return number, key_step(trace["variants"][number])


def key_step(variant: Variant) -> int:
    """The variant's key step, counted from 0: the one that is named, else the one that would be picked."""
    return variant["key"] if "key" in variant else _picked(variant)[1]


def _number_of(variants: list[Variant], label: str) -> int:
    labels = [variant["label"] for variant in variants]
    if label not in labels:
        raise ValueError(f"key names the variant {label!r}; the variants are {', '.join(map(repr, labels))}")
    return labels.index(label)


def _checked(step: Any, count: int) -> int:
    if not isinstance(step, int) or isinstance(step, bool) or not 1 <= step <= count:
        raise ValueError(f"key is the number of a step, from 1 to {count}, not {step!r}")
    return step


def _picked(variant: Variant) -> tuple[int, int]:
    """How much the key step tells, and its number from 0."""
    cause = _cause(variant)
    if cause is not None:
        return _STALE, cause
    seen = _Seen()
    for event in variant.get("before", ()):
        seen.take(event)
    last_write: int | None = None
    most = names = 0
    for number, step in enumerate(variant["steps"]):
        events = step["events"]
        for event in events:
            seen.take(event)
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
    """The step that made stale what the first backward that raised asked for; None where no backward did."""
    saved: dict[str, str] = {}  # the id of what was saved -> the node that saved it
    stale: dict[str, int] = {}  # the node -> the first step that took something of it
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
    """Names and tensors, as far as the events have told."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}  # name -> tensor
        self.tensors: dict[str, Event] = {}

    def take(self, event: Event) -> None:
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
        """Whether two names see cells that were written."""
        written = write.get("ranges") or [[int(cell), int(cell)] for cell in write["cells"]]
        if not written:
            return False
        low, high = min(first for first, _ in written), max(last for _, last in written)
        looking = 0
        for tensor in map(self.tensors.get, self.names.values()):
            if tensor is not None and tensor["storage"] == write["storage"]:
                first, last = _reach(tensor)
                looking += first <= high and low <= last
        return looking > 1


def _reach(tensor: Event) -> tuple[int, int]:
    """The lowest and the highest cell that a tensor reads."""
    low = high = tensor["offset"]
    for size, stride in zip(tensor["shape"], tensor["strides"], strict=True):
        far = max(size - 1, 0) * stride
        low, high = low + min(far, 0), high + max(far, 0)
    return low, high
