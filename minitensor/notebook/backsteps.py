"""The steps of backward: where it starts, what each node is given and passes on, what is left at the leaves."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitensor.history import WRITE, Leaf, Node
from minitensor.notebook import cells, facts
from minitensor.notebook.ledger import Ledger, NodeEntry
from minitensor.tensor import Tensor

MOST_SUMMED = 64  # elements of a gradient that are added up for showing


def started(ledger: Ledger, node: Node, gradient: np.ndarray) -> None:
    """Backward starts at ``node``."""
    value = ledger.values.get(id(node))
    text = cells.gradient_text(gradient)
    if value is not None:
        _tell(ledger, value, text)
    ledger.facts.append(facts.Started(_label(value, node), text))


def entered(ledger: Ledger, node: Node, gradient: np.ndarray) -> NodeEntry | None:
    """The rules of ``node`` are about to run."""
    value = ledger.values.get(id(node))
    text = cells.gradient_text(gradient)
    if value is not None and value.drawn:
        ledger.events.append({"do": "run", "node": value.drawn})
        if value.arrived is None and value.state.gradient is None:
            _tell(ledger, value, text)
    ledger.facts.append(facts.Passed(value, node.op.name, text, []))
    return value


def visited(ledger: Ledger, node: Node, gradient: np.ndarray, sent: list[tuple[Node, np.ndarray]]) -> None:
    """The rules of ``node`` have run; ``sent`` is on its way."""
    if type(node) is Leaf:
        return
    passed = next((fact for fact in reversed(ledger.facts) if type(fact) is facts.Passed), None)
    for parent, part in sent:
        value = ledger.values.get(id(parent))
        total = _sum(value, part)
        if value is not None and _stands_for_its_state(parent, value):
            _tell(ledger, value, total)
        if passed is not None:
            passed.sent.append(facts.Sent(value, _label(value, parent), cells.gradient_text(part), total))


def left(ledger: Ledger, node: Node) -> None:
    """What ``node`` saved has been let go, unless the graph is retained."""
    value = ledger.values.get(id(node))
    if value is not None and type(node.saved) is str:
        ledger.release(value)


def collected(ledger: Ledger, node: Node, gradient: Tensor) -> None:
    """A leaf holds its gradient."""
    value = ledger.values.get(id(node))
    text = cells.gradient_text(gradient._array)
    entry = ledger.meet(gradient, "grad")
    if value is not None:
        value.arrived = None
    ledger.facts.append(facts.Collected(value, text, entry.storage))


def _tell(ledger: Ledger, value: NodeEntry, text: str) -> None:
    value.state.gradient = text
    if not value.state.dropped:
        ledger.events.append({"do": "grad", "state": value.state.id, "text": text})


def _stands_for_its_state(node: Node, value: NodeEntry) -> bool:
    """Whether a gradient for ``node`` is one for all of its family's memory, not for what one view sees of it."""
    return bool(value.drawn and not value.partial) or type(node) is Leaf or node.op is WRITE


def _label(value: NodeEntry | None, node: Node) -> str:
    return value.state.label if value is not None else "an earlier value"


def _sum(value: NodeEntry | None, part: np.ndarray) -> str:
    """The text of the gradient that has arrived at a node so far, this part included."""
    if value is None or part.size > MOST_SUMMED:
        return cells.gradient_text(part)
    before: Any = 0.0 if value.arrived is None else np.array(value.arrived)
    total = before + part
    value.arrived = total.tolist()
    return cells.gradient_text(np.asarray(total))
