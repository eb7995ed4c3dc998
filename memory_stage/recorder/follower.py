"""Follow the engine: put its events into the ledger, each in the step of the statement that caused it."""

from __future__ import annotations

from types import FrameType
from typing import Any

from memory_stage.engines.protocol import Engine, Node, Role
from memory_stage.model import changes
from memory_stage.recorder import backward_steps
from memory_stage.recorder.operation_names import Spelling
from memory_stage.recorder.other_threads import OtherThreads
from memory_stage.recorder.steps import OpenStep, Steps
from memory_stage.recorder.tracer import Tracer

#: The methods of the ledger that record the events of an operation.
_OPERATIONS = {"make": "made", "view": "viewed", "write": "wrote", "meta": "reshaped", "changed": "wrote_unversioned"}


class Follower:
    """Turn the engine's events into changes of the running step, and nodes of backward into steps."""

    def __init__(self, engine: Engine, tracer: Tracer, steps: Steps, threads: OtherThreads) -> None:
        self._engine = engine
        self._tracer = tracer
        self._steps = steps
        self._threads = threads
        self._ledger = steps.ledger
        self._spelling = Spelling(engine)

    def follow(self, frame: FrameType, kind: str, *arguments: Any) -> None:
        """Record an event of the recorded thread, which ``frame`` emitted."""
        self._threads.apply()
        if self._steps.is_too_long():
            return
        storages = self._ledger.storages
        if kind != "flight" or self._steps.in_flight:
            # The event of the first gradient precedes the first step of backward, to which that gradient belongs.
            storages.meters.update(storages.bytes_of_others_freed)
        if kind == "free":
            if not storages.is_registered(arguments[0]):
                self._ledger.free(arguments[0])  # the garbage collector may free older storages at any time
                return
            self._steps.being_freed = self._engine.freed(arguments[0])  # a step that ends now ends before it is freed
        self._tracer.locate(frame)
        self._steps.being_freed = 0
        if kind in _OPERATIONS:
            self._record_operation(frame, kind, *arguments)
        else:
            self._record(kind, *arguments)

    def follow_freed(self, frame: FrameType, record: Any) -> None:
        """Call ``record``, which records that the interpreter frees a tensor or a node, in the step of ``frame``."""
        self._threads.apply()
        self._tracer.locate(frame)
        record()

    def _record_operation(self, frame: FrameType, kind: str, *arguments: Any) -> None:
        facts, graph = self._ledger.journal.facts, self._ledger.graph
        count = len(facts)
        asker = self._spelling.asker(frame, (arguments[0], *(arguments[2] if kind != "changed" else ())))
        graph.other_names = asker.otherwise
        getattr(self._ledger, _OPERATIONS[kind])(*arguments)
        graph.other_names = False
        self._spelling.note(asker, facts[count:])

    def _record(self, kind: str, *arguments: Any) -> None:
        ledger, facts = self._ledger, self._ledger.journal.facts
        match kind:
            case "alloc":
                ledger.storages.alloc(*arguments)
            case "free" | "taken":
                getattr(ledger, kind)(*arguments)
            case "met":
                ledger.graph.observe(*arguments)
            case "refused" | "stale":
                facts.append(changes.Refused(arguments[1]))
            case "asked":
                facts.append(changes.Asked(ledger.graph.observe(*arguments)))
            case "unseen":
                facts.append(changes.Unseen(*arguments))
            case "flight":
                self._steps.in_flight += arguments[0]
            case "hooked":
                backward_steps.hooked(ledger, *arguments)
            case "leaf":
                backward_steps.collected(ledger, *arguments)
            case "visit" if self._engine.role(arguments[0]) is not Role.LEAF:
                backward_steps.visited(ledger, *arguments)
            case "start" | "enter" | "left" if self._engine.role(arguments[0]) is not Role.LEAF:
                self._record_backward(kind, *arguments)

    def _record_backward(self, kind: str, node: Node, *gradient: Any) -> None:
        """Finish the step of a node of backward, and begin the next one."""
        statement = self._steps.statement
        if kind == "left":
            backward_steps.left(self._ledger, node)
        self._steps.finish(partly=True)
        if not self._steps.active or statement is None or self._steps.is_full():
            return
        self._steps.open = OpenStep(statement, "backward", continues=True)
        if kind == "start":
            backward_steps.started(self._ledger, node, *gradient)
            self._steps.finish(partly=True)  # hooks at the root have their own step
            self._steps.open = OpenStep(statement, "backward", continues=True)
        elif kind == "enter":
            self._steps.open.node = backward_steps.entered(self._ledger, node, *gradient)
