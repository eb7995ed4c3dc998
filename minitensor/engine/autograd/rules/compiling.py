"""Bind the names in a gradient rule to functions on tensors, for backward with ``create_graph``.

The rules on tensors call operations, so the package of the operations cannot import the rules. Importing this module
registers the rules with that package.
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
    """Return the names for rules on tensors: operations, helpers, and the function that restores a saved tensor."""
    return {
        **operations.FUNCTIONS,
        "zeros_like": making.zeros_like,
        **namespaces.helpers(rules, "on_tensors"),
        "revived": revived,
    }


operations.FUNCTIONS.on_tensors = on_tensors
