"""The backward of a row on tensors, compiled when ``create_graph`` first asks for it.

Such rules are made *of* operations, so they live above them: the operations are told here where to find them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from minitensor import operations
from minitensor.autograd import rules
from minitensor.autograd.higher_order import revived
from minitensor.creation import making
from minitensor.operations import compiling
from minitensor.operations.rules import namespaces
from minitensor.operations.templates import backward_name, backward_source
from minitensor.table import Row


@functools.cache
def on_tensors() -> dict[str, Any]:
    """What the names in a rule stand for on tensors: operations as they are, and the helpers."""
    return {
        **operations.FUNCTIONS,
        "zeros_like": making.zeros_like,
        **namespaces.helpers(rules, "on_tensors"),
    }


@functools.cache
def backward_on_tensors(row: Row, in_place: bool) -> Callable[..., Any]:
    """The backward of ``row`` as a function of its node and the gradient, a tensor; it gives tensors."""
    name = backward_name(row, in_place, on_tensors=True)
    namespace = {**on_tensors(), **compiling.ENGINE, "revived": revived}
    return compiling.compiled(name, backward_source(row, in_place, True), namespace)


compiling.run_rules_on_tensors_with(backward_on_tensors)
