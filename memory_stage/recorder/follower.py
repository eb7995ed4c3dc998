"""Record the engine's events in the ledger, each in the step of the statement that caused it."""

from __future__ import annotations

from types import FrameType
from typing import Any, TypeAlias

from memory_stage.engines import events
from memory_stage.engines.protocol import Engine, Role
from memory_stage.model import changes
from memory_stage.recorder import backward_steps
from memory_stage.recorder.operation_names import OperationNaming
from memory_stage.recorder.other_threads import OtherThreads
from memory_stage.recorder.steps import OpenStep, Steps
from memory_stage.recorder.tracer import Tracer

#: The events of an operation.
_OPERATIONS = (events.Make, events.MakeView, events.Write, events.UnversionedWrite, events.Relayout)

_OfNode: TypeAlias = events.BackwardStart | events.NodeEnter | events.NodeVisit | events.NodeLeave


class Follower:
    """Turn the engine's events into changes of the running step, and each node of backward into a step."""

    def __init__(self, engine: Engine, tracer: Tracer, steps: Steps, threads: OtherThreads) -> None:
        self._engine = engine
        self._tracer = tracer
        self._steps = steps
        self._threads = threads
        self._ledger = steps.ledger
        self._operation_names = OperationNaming(engine)

    def follow(self, frame: FrameType, event: events.Event) -> None:
        """Record an event of the recorded thread, which ``frame`` emitted."""
        self._threads.apply()
        if self._steps.end_if_too_long():
            return
        storages = self._ledger.storages
        if not isinstance(event, events.FlightChange) or self._steps.in_flight:
            # The first gradient belongs to the first step of backward, but its event arrives before that step begins.
            storages.meters.update(storages.bytes_of_others_freed)
        if isinstance(event, events.Free):
            if not storages.is_registered(event.storage):
                # Its statement is not located, because the garbage collector may free such a storage at any time.
                self._ledger.free(event.storage)
                return
            self._steps.being_freed = self._engine.freed(event.storage)  # a step that ends now still counts its bytes
        self._tracer.locate(frame)
        self._steps.being_freed = 0
        if isinstance(event, _OPERATIONS):
            inputs = () if isinstance(event, events.UnversionedWrite) else event.inputs
            self._record_operation(frame, event, (event.tensor, *inputs))
        else:
            self._record(event)

    def follow_freed(self, frame: FrameType, record: Any) -> None:
        """Call ``record``, which records a freed tensor or node, in the step of the statement that ``frame`` runs."""
        self._threads.apply()
        self._tracer.locate(frame)
        record()

    def _record_operation(self, frame: FrameType, event: events.Event, tensors: tuple[Any, ...]) -> None:
        facts, graph = self._ledger.journal.facts, self._ledger.graph
        count = len(facts)
        site = self._operation_names.call_site(frame, tensors)
        graph.other_names = site.otherwise
        self._ledger.record(event)
        graph.other_names = False
        self._operation_names.note(site, facts[count:])

    def _record(self, event: events.Event) -> None:
        ledger, facts = self._ledger, self._ledger.journal.facts
        match event:
            case events.Refusal(_, reason) | events.StaleRead(_, reason):
                facts.append(changes.Refused(reason))
            case events.GradientRequest(x):
                facts.append(changes.Asked(ledger.graph.observe(x)))
            case events.Omission(reason):
                facts.append(changes.Unseen(reason))
            case events.FlightChange(nbytes):
                self._steps.in_flight += nbytes
            case events.HookCall(node, gradient, answer, after, layer):
                backward_steps.record_hook(ledger, node, gradient, answer, after, layer)
            case events.LeafGradient(leaf, gradient):
                backward_steps.record_leaf_gradient(ledger, leaf, gradient)
            case events.BackwardStart(node) | events.NodeEnter(node) | events.NodeVisit(node) | events.NodeLeave(node):
                if self._engine.role(node) is not Role.LEAF:
                    self._record_backward(event)
            case _:
                ledger.record(event)

    def _record_backward(self, event: _OfNode) -> None:
        """Record an event of backward. Every event but ``NodeVisit`` finishes the running step and begins another."""
        if isinstance(event, events.NodeVisit):
            backward_steps.record_visit(self._ledger, event.node, event.gradient, event.sent)
            return
        statement = self._steps.statement
        if isinstance(event, events.NodeLeave):
            backward_steps.record_release(self._ledger, event.node)
        self._steps.finish(partly=True)
        if not self._steps.active or statement is None or self._steps.end_if_full():
            return
        self._steps.open = OpenStep(statement, "backward", continues=True)
        match event:
            case events.BackwardStart(node, gradient):
                backward_steps.record_start(self._ledger, node, gradient)
                self._steps.finish(partly=True)  # hooks at the root of backward get a separate step
                self._steps.open = OpenStep(statement, "backward", continues=True)
            case events.NodeEnter(node, gradient):
                self._steps.open.node = backward_steps.record_entry(self._ledger, node, gradient)
