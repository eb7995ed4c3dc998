"""Replay a trace as the stage does, and compare the memory after its last step with the real objects."""

from __future__ import annotations

from collections.abc import Iterator

import minitensor as mt
from memory_stage.trace.cells import SMALL, text_of


class Memory:
    """The state of memory after a trace's last step."""

    def __init__(self, variant: dict) -> None:
        self.storages: dict[str, dict] = {}
        self.tensors: dict[str, dict] = {}
        self.names: dict[str, str] = {}
        self.saved: dict[str, dict] = {}
        self.nodes: dict[str, dict] = {}
        for event in variant.get("before", []):
            self.apply(event)
        for step in variant["steps"]:
            for event in step["events"]:
                self.apply(event)

    def apply(self, event: dict) -> None:
        do = event["do"]
        if do == "storage":
            self.storages[event["id"]] = {**event, "version": event.get("version", 0), "values": {**event["values"]}}
        elif do == "write":
            storage = self.storages[event["storage"]]
            storage["values"].update(event["cells"])
            storage["version"] = event["version"]
        elif do == "tensor":
            self.tensors[event["id"]] = dict(event)
        elif do == "retensor":
            self.tensors[event["id"]].update(event)
        elif do == "name":
            self.names[event["name"]] = event["tensor"]
        elif do == "unname":
            del self.names[event["name"]]
        elif do == "free":
            for id_ in event["tensors"]:
                del self.tensors[id_]
            for id_ in event["storages"]:
                del self.storages[id_]
        elif do == "node":
            self.nodes[event["id"]] = event
        elif do == "save":
            self.saved[event["id"]] = {**event, "stale": "", "parts": {}}
        elif do == "preserve":
            save = self.saved[event["id"]]
            assert event["storage"] in self.storages
            if "ranges" in event:
                save["parts"][event["storage"]] = event
            else:
                save.update(event, do="save", version=0)
        elif do == "stale":
            for id_ in event["ids"]:
                self.saved[id_]["stale"] = "lost" if event["lost"] else "moved"
        elif do == "release":
            for id_ in event["ids"]:
                del self.saved[id_]
        elif do == "drop":
            for id_ in event["nodes"]:
                del self.nodes[id_]
            self.saved = {id_: save for id_, save in self.saved.items() if save["node"] in self.nodes}

    def kept_by(self) -> list[tuple]:
        """Return for each saved tensor its operation, why it is stale ("" if it is not), and its preserved bytes."""
        return sorted(
            (
                self.nodes[save["node"]]["op"],
                save["stale"],
                sum(self.storages[id_]["bytes"] for id_ in save["parts"] if id_ in self.storages),
            )
            for save in self.saved.values()
        )

    def differs_from(self, name: str, tensor: mt.Tensor) -> list[str]:
        """Return the differences between the trace and the tensor of this name."""
        if name not in self.names:
            return [f"{name} is not in the trace"]
        seen = self.tensors[self.names[name]]
        storage = self.storages[seen["storage"]]
        ask = mt.Tensor.__dict__  # suits both vocabularies, which name some of these properties differently
        real = {key: ask[key].__get__(tensor) for key in ("shape", "strides", "stop_gradient")}
        real["offset"] = ask["offset"].__get__(tensor) if tensor._array.size else seen["offset"]
        real["dtype"], real["leaf"] = ask["dtype"].__get__(tensor).name, ask["is_leaf"].__get__(tensor)
        version = getattr(tensor._storage, "of", tensor._storage).version  # the version of x for `x.data`
        found = [f"{name}: {key} is {seen[key]}, not {value}" for key, value in real.items() if seen[key] != value]
        if storage["version"] != version:
            found.append(f"{name}: version is {storage['version']}, not {version}")
        numbers = _flat(tensor.tolist())
        for index, number in zip(_cells(tensor), numbers, strict=True):
            reported = storage["values"].get(str(index))
            if reported is None and storage["length"] > SMALL:
                continue
            if reported != text_of(number):
                found.append(f"{name}: cell {index} is {reported}, not {text_of(number)}")
        return found


def _flat(numbers) -> list:
    return [n for part in numbers for n in _flat(part)] if isinstance(numbers, list) else [numbers]


def _cells(tensor: mt.Tensor) -> list[int]:
    """Return the cells of the storage that a tensor reads, in row-major order."""
    ask = mt.Tensor.__dict__
    cells = [ask["offset"].__get__(tensor) if tensor._array.size else 0]
    for n, stride in zip(tensor._array.shape, ask["strides"].__get__(tensor), strict=True):
        cells = [cell + i * stride for cell in cells for i in range(n)]
    return cells


def after_each_line(variant: dict) -> Iterator[tuple[int, Memory]]:
    """Yield the number of each line and the memory after the line's last step, once for each time that the line
    runs.
    """
    memory = Memory({"before": variant.get("before", []), "steps": []})
    steps = variant["steps"]
    for number, step in enumerate(steps):
        for event in step["events"]:
            memory.apply(event)
        if number + 1 == len(steps) or steps[number + 1]["line"] != step["line"]:
            yield step["line"], memory
