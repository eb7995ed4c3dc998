"""Bind the names in a gradient rule to functions on tensors, for backward with ``create_graph``.

These rules are made of operations and live above them, so this module registers them with the operations.
"""

from __future__ import annotations

import functools
from typing import Any

from minitensor.engine import operations
from minitensor.engine.autograd import rules
from minitensor.engine.autograd.higher_order import revived
from minitensor.engine.creation import making
from minitensor.engine.operations.rules import namespaces


@functools.cache
def on_tensors() -> dict[str, Any]:
    """Return the operations, the helpers, and the function that restores a saved tensor."""
    return {
        **operations.FUNCTIONS,
        "zeros_like": making.zeros_like,
        **namespaces.helpers(rules, "on_tensors"),
        "revived": revived,
    }


operations.FUNCTIONS.on_tensors = on_tensors
