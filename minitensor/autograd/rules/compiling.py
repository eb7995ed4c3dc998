"""What the names in a rule stand for on tensors: ``create_graph`` has backward run on those.

Such rules are made *of* operations, so they live above them: the operations are told here where to find them.
"""

from __future__ import annotations

import functools
from typing import Any

from minitensor import operations
from minitensor.autograd import rules
from minitensor.autograd.higher_order import revived
from minitensor.creation import making
from minitensor.operations.rules import namespaces


@functools.cache
def on_tensors() -> dict[str, Any]:
    """Operations as they are, the helpers, and what a saved tensor is taken back with."""
    return {
        **operations.FUNCTIONS,
        "zeros_like": making.zeros_like,
        **namespaces.helpers(rules, "on_tensors"),
        "revived": revived,
    }


operations.FUNCTIONS.on_tensors = on_tensors
