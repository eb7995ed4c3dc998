"""The memory meter: the bytes in use on a device, updated in a notebook after every cell.

    from memory_stage.figures import meter
    meter.show()                 # the device on which new tensors are made
    meter.show("gpu:sim")

The meter reads counters that exist anyway, so it does not slow down the cells, and it never resets a peak. The device
is a CUDA device (through CuPy), the simulated GPU, or the host. In a page without a kernel the meter shows its last
reading.
"""

from __future__ import annotations

import os
import sys
import weakref
from typing import Any, NamedTuple

from memory_stage.messages import Text, in_context, message, said
from memory_stage.trace.amounts import bytes_shown
from memory_stage.web.element import Figure, FigureTable, in_language
from minitensor.device import cpu
from minitensor.engine.device.places import current, device_named
from minitensor.engine.device.simulated import SimulatedGpu

MOST_CELLS = 24  # the readings of this many latest cells are shown


class Reading(NamedTuple):
    """A reading of a device's counters, in bytes; ``capacity`` is None if it is not known."""

    device: str
    allocated: int
    reserved: int
    peak: int
    capacity: int | None
    simulated: bool


def read(device: str | None = None) -> Reading:
    """Read the counters of a device, by default of the one on which new tensors are made.

    Raises:
        ValueError: if there is no such device.
    """
    gpu = current.gpu if device is None else device_named("meter", device)
    if gpu is None:
        held = cpu.memory_allocated()
        return Reading("cpu", held, cpu.memory_reserved(), cpu.max_memory_allocated(), None, False)
    counters = gpu.counters()
    capacity = getattr(counters, "capacity", None) or _capacity_of_card()
    simulated = isinstance(gpu, SimulatedGpu)
    return Reading(gpu.name, counters.allocated, counters.reserved, counters.max_allocated, capacity, simulated)


def _capacity_of_card() -> int | None:
    cupy = sys.modules.get("cupy")
    return None if cupy is None else int(cupy.cuda.runtime.memGetInfo()[1])


class Meter:
    """The meter of one device, which :func:`show` returns.

    Attributes:
        data: the input of the figure's script, in the form that ``meter.schema.json`` describes.
    """

    def __init__(self, device: str | None = None) -> None:
        self._device = device
        self._cells: list[dict[str, Any]] = []
        self._before = read(device)
        self._shell: Any = None
        self._widget: Any = None
        holds = message("{place} holds {size}.", place=_where(self._before), size=bytes_shown(self._before.allocated))
        self.data = self._describe(self._before, said(holds))

    def follow(self, shell: Any) -> None:
        """Update the meter after every cell that ``shell`` (an IPython shell) runs, until :meth:`stop`."""
        self._shell = weakref.ref(shell)
        shell.events.register("pre_run_cell", self._before_cell)
        shell.events.register("post_run_cell", self._after_cell)

    def stop(self) -> None:
        """Stop updating the meter. Its last reading remains visible."""
        shell = self._shell() if self._shell is not None else None
        self._shell = None
        if shell is not None:
            shell.events.unregister("pre_run_cell", self._before_cell)
            shell.events.unregister("post_run_cell", self._after_cell)

    def _before_cell(self, info: Any = None) -> None:
        self._before = read(self._device)

    def _after_cell(self, result: Any = None) -> None:
        number = getattr(result, "execution_count", None)
        self.note(f"[{number}]" if number else "[ ]")

    def note(self, label: str) -> None:
        """Add a reading for the cell ``label``, with the change since the cell began or since its last reading."""
        before, now = self._before, read(self._device)
        # The counters of another device, or of a new simulated one, start at 0.
        begins = before.device != now.device or before.capacity != now.capacity
        change = now.allocated - (0 if begins else before.allocated)
        reserved = 0 if now.device == "cpu" else now.reserved - (0 if begins else before.reserved)
        self._before = now
        self._cells.append({"label": label, "change": change, "allocated": now.allocated, "reserved": now.reserved})
        del self._cells[:-MOST_CELLS]
        cell = message("Cell {label}", label=label) if label.startswith("[") else message("“{label}”", label=label)
        happened = message(
            "{change}: {place} holds {amounts}.",
            change=_describe_change(cell, change, reserved),
            place=_where(now),
            amounts=_in_all(now),
        )
        self.data = self._describe(now, said(happened))
        if self._widget is not None:
            self._widget.data = self.data

    def _describe(self, now: Reading, say: str) -> dict[str, Any]:
        title = message("Memory of {device}", device=now.device)
        if now.simulated:
            title = message("Memory of {device}, simulated", device=now.device)
        described = {
            "schema": "meter/1",
            "title": said(title),
            "ask": None,
            "device": now.device,
            "capacity": now.capacity,
            "now": {"allocated": now.allocated, "reserved": now.reserved, "peak": now.peak},
            "cells": list(self._cells),
            "say": say,
        }
        return in_language(described)

    def figure(self) -> Figure:
        """Return the current reading as a figure that is not updated."""
        now = self.data["now"]
        counters = {"allocated": message("allocated"), "reserved": message("reserved"), "peak": message("peak")}
        rows = [(said(name), bytes_shown(now[key])) for key, name in counters.items()]
        if self.data["capacity"]:
            rows.append((said(message("capacity")), bytes_shown(self.data["capacity"])))
        tables = [FigureTable(self.data["title"], (said(message("counter")), said(message("bytes"))), rows)]
        if self._cells:
            cells = [
                (
                    cell["label"],
                    _signed_text(cell["change"]),
                    bytes_shown(cell["allocated"]),
                    bytes_shown(cell["reserved"]),
                )
                for cell in reversed(self._cells)
            ]
            head = (in_context("notebook", "cell"), message("change"), message("allocated"), message("reserved"))
            tables.append(FigureTable(said(message("The last cells")), tuple(map(said, head)), cells))
        return Figure(self.data, self.data["say"], tables)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        figure = self.figure()
        if os.environ.get("MINITENSOR_BOOK") == "1":  # a page of the book has no kernel that could update the meter
            return figure._repr_mimebundle_()
        try:
            if self._widget is None:
                self._widget = figure.widget()
        except ImportError:
            return figure._repr_mimebundle_()
        return self._widget._repr_mimebundle_(include=include, exclude=exclude)


def _describe_change(cell: Text, change: int, reserved: int) -> Text:
    size = bytes_shown(abs(change))
    if change:
        way = message("{cell} takes {size}", cell=cell, size=size)
        if change < 0:
            way = message("{cell} frees {size}", cell=cell, size=size)
    elif reserved:
        way = message("{cell} does not change the allocated bytes", cell=cell)
    else:
        way = message("{cell} does not change the bytes", cell=cell)
    if not reserved:
        return way
    segments = bytes_shown(abs(reserved))
    if reserved > 0:
        return message("{change}, and the allocator takes {size} from the device", change=way, size=segments)
    return message("{change}, and the allocator returns {size} to the device", change=way, size=segments)


def _where(now: Reading) -> Text:
    return message("{device}, a simulated GPU,", device=now.device) if now.simulated else now.device


def _in_all(now: Reading) -> Text:
    """Return the allocated bytes, the reserved bytes if they differ, and the bytes that are left if they are known."""
    amounts = {"size": bytes_shown(now.allocated), "reserved": bytes_shown(now.reserved)}
    has_more_reserved = now.reserved != now.allocated
    if not now.capacity:
        return message("{size}, {reserved} are reserved", **amounts) if has_more_reserved else amounts["size"]
    amounts["left"] = bytes_shown(now.capacity - now.reserved)
    if has_more_reserved:
        return message("{size}, {reserved} are reserved and {left} are left", **amounts)
    return message("{size}, {left} are left", **amounts)


def _signed_text(change: int) -> str:
    return "±0" if not change else f"{'+' if change > 0 else '−'}{bytes_shown(abs(change))}"


_shown: list[Meter] = []


def show(device: str | None = None) -> Meter:
    """Show a meter that is updated after every cell, and stop the meter that was shown before.

    Args:
        device: ``"gpu"``, ``"gpu:sim"`` or ``"cpu"``; by default the device on which new tensors are made.

    Raises:
        ValueError: if there is no such device.
    """
    made = Meter(device)
    while _shown:
        _shown.pop().stop()
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None:
        made.follow(shell)
        _shown.append(made)
    return made
