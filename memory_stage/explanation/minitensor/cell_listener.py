"""Listen to a cell of a notebook, whose tensors earlier cells have made."""

from __future__ import annotations

from collections.abc import Iterable
from types import CodeType
from typing import Any

from memory_stage.explanation.minitensor.listener import Listener
from minitensor.memory.reachable_names import names_in, tensors_in


def listener_of_cell(parts: Iterable[CodeType], names: dict[str, Any]) -> Listener:
    """Return a listener that knows the tensors to which a cell refers."""
    mentioned = dict.fromkeys(name for code in parts for name in names_in(code))
    return Listener([found for name in mentioned if name in names for found in tensors_in(name, names[name])])
