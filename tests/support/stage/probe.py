"""Record the engine's state after each step of a recording, to compare it with the trace.

The probe does not ask the recorder under test. It reads no property, because a property may update a view's history.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import minitensor as mt
from memory_stage.recorder.steps import Steps
from minitensor.engine.core.history import Leaf, Node, peek
from minitensor.engine.core.regions import strides_of
from minitensor.engine.core.storage import Storage
from minitensor.engine.device.arrays import address_of, host_array, restrided
from minitensor.engine.device.counters import cpu_meter
from minitensor.engine.operations.operands import CONSTANT
from minitensor.engine.saved.saved import FREED, Lost, Preserved, is_intact


@contextmanager
def probe_steps(namespace: dict[str, Any]) -> Iterator[list[dict[str, Any]]]:
    """Yield a list, to which each step inside the ``with`` block appends the engine's state, or {} if it is unknown."""
    seen: list[dict[str, Any]] = []
    finish = Steps.finish

    def finish_and_look(self: Steps, *arguments: Any, **settings: Any) -> None:
        finish(self, *arguments, **settings)
        if len(self.recorded) > len(seen):
            # A step in which a function returns is not compared: the trace binds the result only in the next step.
            seen.append({} if settings.get("has_returned") else state_of(namespace))

    # unlike an assignment, MonkeyPatch restores the class exactly, even if it inherits the method
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Steps, "finish", finish_and_look)
        yield seen


def state_of(namespace: dict[str, Any]) -> dict[str, Any]:
    """Return the tensors of the top-level names, the saved values, and the bytes of the meter."""
    tensors = {name: value for name, value in namespace.items() if isinstance(value, mt.Tensor)}
    return {
        "tensors": {name: look(x) for name, x in tensors.items()},
        "kept": kept([x for x in tensors.values()]),
        "allocated": cpu_meter.allocated,
    }


def look(x: mt.Tensor) -> dict[str, Any]:
    array, storage = x._array, getattr(x._storage, "of", x._storage)
    base, node = storage.buffer, peek(x)
    size = array.itemsize
    at = address_of(array) - address_of(base)
    return {
        "tensor": id(x),
        "storage": id(storage),
        "shape": list(array.shape),
        "strides": strides_of(array),
        "offset": at // size if array.size else None,
        "dtype": x.dtype.name,
        "stop_gradient": node is None,
        "version": storage.version,
        "cells": host_array(restrided(base, (base.size,), (size,))).tolist() if base.size <= 64 else None,
        "at": host_array(array).tolist() if array.size and base.size > 64 and array.size <= 4096 else None,
    }


def kept(tensors: list[mt.Tensor]) -> list[tuple]:
    """Return an entry for each saved value of the nodes that ``tensors`` depend on: the operation, why the value is
    stale ("" if it is not), and the number of preserved bytes.
    """
    found = []
    for node in reachable(tensors):
        entries = () if type(node) is Leaf or node.saved is FREED else node.saved
        for _, saved in zip(node.op.saved_names, entries, strict=False):
            if type(saved) is tuple and len(saved) == 3 and isinstance(saved[1], Storage) and saved[1] is not CONSTANT:
                version = saved[2]
                stale = "" if is_intact(saved) else "lost" if type(version) is Lost else "moved"
                patches = version.patches if type(version) is Preserved else ()
                found.append((node.op.name, stale, sum(patch.values.nbytes for patch in patches)))
    return sorted(found)


def reachable(tensors: list[mt.Tensor]) -> set[Node]:
    """Return the nodes that ``tensors`` depend on. This does not update the history of a view first."""
    nodes, stack = set(), [node for x in tensors if (node := peek(x)) is not None]
    while stack:
        node = stack.pop()
        if node not in nodes:
            nodes.add(node)
            stack += [parent for parent in node.inputs if parent is not None]
    return nodes


def differences(reported: Any, seen: dict[str, Any]) -> Iterator[str]:
    """Yield the differences between a replayed trace (``replay.Memory``) and the observed state, or nothing if ``seen``
    is {}.
    """
    from memory_stage.trace.cells import SMALL, text_of

    if not seen:
        return
    same: dict[str, int] = {}
    for name, real in seen["tensors"].items():
        if name not in reported.names:
            yield f"{name} is not in the trace"
            continue
        entry = reported.tensors[reported.names[name]]
        storage = reported.storages[entry["storage"]]
        for key in ("shape", "strides", "offset", "dtype", "stop_gradient"):
            if real[key] is not None and entry[key] != real[key]:
                yield f"{name}: {key} is {entry[key]}, not {real[key]}"
        if storage["version"] != real["version"]:
            yield f"{name}: version is {storage['version']}, not {real['version']}"
        for kind, number in (("tensor", entry["id"]), ("storage", "s" + entry["storage"])):
            if same.setdefault(number, real[kind]) != real[kind]:
                yield f"{name}: {kind} {number} of the trace is two objects"
        if storage["length"] <= SMALL:
            texts = [storage["values"][str(i)] for i in range(storage["length"])]
            wanted = [text_of(number) for number in real["cells"]]
            if texts != wanted:
                yield f"{name}: cells are {texts}, not {wanted}"
        elif real["at"] is not None:
            numbers = np.array(real["at"]).reshape(-1).tolist()
            for cell, number in zip(cells_of(real), numbers, strict=True):
                text = storage["values"].get(str(cell))
                if text is not None and text != text_of(number):
                    yield f"{name}: cell {cell} is {text}, not {text_of(number)}"
    if len(set(same.values())) < len(same):
        yield "the trace has two ids for one tensor or storage"
    left, right = list(reported.kept_by()), list(seen["kept"])
    for one in right:
        if one in left:
            left.remove(one)
        else:
            yield f"the engine saved {one} of {seen['kept']}; the trace has {reported.kept_by()}"
            break


def cells_of(real: dict[str, Any]) -> list[int]:
    """Return the cells of the storage that a tensor reads, in row-major order."""
    cells = [real["offset"] or 0]
    for n, stride in zip(real["shape"], real["strides"], strict=True):
        cells = [cell + i * stride for cell in cells for i in range(n)]
    return cells
