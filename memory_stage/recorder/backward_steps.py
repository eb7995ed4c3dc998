"""Record backward: its start, the gradients that each node gets and sends, and the gradients of the leaves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memory_stage.engines.protocol import Node, Role, Tensor
from memory_stage.messages import Text, message
from memory_stage.model import changes
from memory_stage.model.entries import NodeEntry, StateEntry
from memory_stage.model.ledger import Ledger
from memory_stage.sentences.words import code
from memory_stage.trace import cells

MOST_SUMMED = 64  # gradients with more elements are not added up


def record_start(ledger: Ledger, node: Node, gradient: np.ndarray) -> None:
    """Record that backward starts at ``node``."""
    for each in ledger.graph.nodes.values():
        each.arrived = each.state.gradient = None
    value = ledger.graph.entry_of(node)
    text = cells.gradient_text(gradient)
    if value is not None:
        _emit(ledger, value.state, text)
    ledger.journal.facts.append(changes.Started(_name_of(ledger, value.state) if value is not None else "", text))


def record_entry(ledger: Ledger, node: Node, gradient: np.ndarray) -> NodeEntry | None:
    """Record that the backward function of ``node`` is about to run. Return the node's entry."""
    value = ledger.graph.entry_of(node)
    text = cells.gradient_text(gradient)
    if value is not None and value.op == "leaf":
        # This node was a tensor's leaf until the tensor was reshaped or cast under ``no_grad`` and got a new leaf node.
        value.op = ledger.engine.name(node)
    if value is not None and value.drawn:
        ledger.journal.events.append({"do": "run", "node": value.drawn})
        if value.state.gradient is None and not value.inner:
            _emit(ledger, value.state, text)
    ledger.journal.facts.append(changes.Passed(value, ledger.engine.name(node), text, []))
    return value


def record_hook(
    ledger: Ledger,
    node: Node | None,
    gradient: np.ndarray,
    answer: Tensor | None,
    itself: np.ndarray | None = None,
    layer: str = "",
) -> None:
    """Record that a hook of the program got the gradient of the value of ``node``.

    Args:
        answer: the gradient that the hook returned, or None.
        itself: the gradient after the call, if the hook got the gradient itself and no copy; otherwise None.
        layer: the name of the layer that the hook belongs to; ``node`` is None then.
    """
    value = ledger.graph.entry_of(node)
    label: Text = ""
    if value is not None:
        label = code(value.of.name) if value.of is not None and value.of.name else _name_of(ledger, value.state)
    text, storage = "", None
    if answer is not None:
        text = cells.gradient_text(ledger.engine.array(answer))
        storage = ledger.tensors.register(answer).storage.root
        if value is not None and _is_for_whole_state(ledger.engine.role(node), value):
            _emit(ledger, value.state, text)
    given = cells.gradient_text(gradient)
    now = given if itself is None else cells.gradient_text(itself)
    if layer:
        label = message("a layer {layer}", layer=code(layer))
    ledger.journal.facts.append(
        changes.HookReturned(label, given, text, storage, itself is not None, now if now != given else "")
    )


def record_visit(
    ledger: Ledger, node: Node, gradient: np.ndarray, sent: Sequence[tuple[Node, np.ndarray]] | None
) -> None:
    """Record that the backward function of ``node`` has run and passed on ``sent``, which is None if unknown."""
    passed = next((fact for fact in reversed(ledger.journal.facts) if type(fact) is changes.Passed), None)
    if passed is None:  # the backward function is code of the program, whose statements were recorded as steps
        passed = changes.Passed(ledger.graph.entry_of(node), ledger.engine.name(node), "", [])
        ledger.journal.facts.append(passed)
    passed.done = True
    passed.reshapes = any(part.shape != gradient.shape for _, part in sent or ())
    passed.seen = sent is not None
    for parent, part in sent or ():
        value = ledger.graph.entry_of(parent)
        total = _sum(ledger, value, part)
        state = _state_for(ledger, ledger.graph.entry_of(node), parent, value)
        if value is not None and state is not None and _is_for_whole_state(ledger.engine.role(parent), value):
            _emit(ledger, state, total)
        label = _name_of(ledger, state) if state is not None else ""
        passed.sent.append(changes.Sent(value, label, cells.gradient_text(part), total))


def _state_for(ledger: Ledger, by: NodeEntry | None, parent: Node, value: NodeEntry | None) -> StateEntry | None:
    """Return the memory state at which a gradient for ``parent`` is shown: the state that ``by`` read, or a later one.

    A write to a leaf under ``no_grad`` makes a new state and keeps the node, so the gradient is shown at the new state.
    """
    read = by.reads.get(ledger.engine.key(parent)) if by is not None else None
    if read is not None and not read.dropped:
        return read
    if value is None or not value.state.dropped:
        return None if value is None else value.state
    states = value.state.group.states
    return states[max(states)] if states else value.state


def record_release(ledger: Ledger, node: Node) -> None:
    """Record that the saved tensors of ``node`` are released, unless the graph is retained."""
    value = ledger.graph.entry_of(node)
    if value is None:
        return
    value.arrived = None
    if ledger.engine.is_released(node):
        ledger.saved.release(value)


def record_leaf_gradient(ledger: Ledger, node: Node, gradient: Tensor) -> None:
    """Record that the gradient of a leaf was stored."""
    value = ledger.graph.entry_of(node)
    text = cells.gradient_text(ledger.engine.array(gradient))
    entry = ledger.tensors.register(gradient, "grad")
    if value is not None:
        value.arrived = None
    ledger.journal.facts.append(changes.Collected(_leaf_name(ledger, node), text, entry.storage))


def _leaf_name(ledger: Ledger, node: Node) -> str:
    holders = (
        entry for entry in ledger.tensors.entries.values() if entry.names and not entry.properties["stop_gradient"]
    )
    return next((entry.names[0] for entry in holders if ledger.graph.has_value(entry.ref(), node)), "")


def _emit(ledger: Ledger, state: StateEntry, text: str) -> None:
    state.gradient = text
    if not state.dropped:
        ledger.journal.events.append({"do": "grad", "state": state.id, "text": text})


def _name_of(ledger: Ledger, state: StateEntry) -> Text:
    """Return the name of a state in a sentence, with its storage if another state has the same name."""
    has_namesake = ledger.tensors.labels[state.label] > (not state.dropped)
    if has_namesake:
        return message("{state} (storage {storage})", state=code(state.label), storage=state.group.storage.id)
    return code(state.label)


def _is_for_whole_state(role: Role, value: NodeEntry) -> bool:
    """True if the gradient of a node belongs to the whole memory of its group, and not only to one view."""
    if value.inner:
        return False  # it contains the gradients of all results, one after the other
    return bool(value.drawn and not value.partial) or value.is_result_of_call or role in (Role.LEAF, Role.WRITE)


def _sum(ledger: Ledger, value: NodeEntry | None, part: np.ndarray) -> str:
    """Return the text of the sum of all gradients that have arrived at a node so far, including ``part``.

    A long ``part`` is not added to others.
    """
    if value is None or part.size > MOST_SUMMED:
        return cells.gradient_text(part)
    part = ledger.engine.elements(part)
    total = part if value.arrived is None else np.array(value.arrived) + part
    value.arrived = total.tolist()
    return cells.gradient_text(total)
