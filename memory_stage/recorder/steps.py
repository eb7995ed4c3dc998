"""The recorder, third part: the step that is going on, what it becomes when it is over, and the trace of all of them.

* A step in which nothing happened is left out, unless it is a statement that a reader would miss.
* After a limited number of steps no further one is shown, and the trace says so.
* A mistake of the recorder's own ends the recording, never the program, and the trace says so, too.
* What is allocated, and the peak, count the storages that the trace shows and no other of the process.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any

from memory_stage.engines.protocol import Engine, Node
from memory_stage.model import changes
from memory_stage.model.finished_step import Done
from memory_stage.model.ledger import Ledger
from memory_stage.model.statement import Statement
from memory_stage.recorder import names, operation_names
from memory_stage.recorder.running import Running
from memory_stage.sentences import sentences

MOST_TEXT = 2000  # characters of printed text shown with one step
MOST_EVENTS = 60_000  # of a recording: about 10 MB of a page
MOST_IN_A_STEP = 8_000  # of one step: no picture of more can be read, and drawing it takes seconds
MOST_BYTES = 20_000_000  # of what they tell: numbers, names and texts


@dataclass
class Open:
    """The step that is going on."""

    statement: Statement
    phase: str = "forward"
    goes_on: bool = False  # not the first step of its statement
    node: Any = None  # the NodeEntry that backward passes through


class Steps(Running):
    """The steps of a trace, one of which may be open."""

    def __init__(
        self, engine: Engine, source: str, file: str, namespace: dict[str, Any], ignore: frozenset[str], limit: int
    ) -> None:
        super().__init__(source, file)
        self.engine = engine
        self.limit = limit
        self.ledger = Ledger(engine)
        self.names = names.Names(namespace, self.ledger, ignore)
        self.spelling = operation_names.Spelling(engine)
        self.steps: list[dict[str, Any]] = []
        self._on_gpu: list[dict[str, int]] = []  # what the GPU's meter said at the end of each step
        self.reserved_before = 0
        self.truncated: str | None = None
        self.open: Open | None = None
        self._told = self._told_bytes = 0  # events, in all steps, and about how long they are as text
        self.flight = self.told_flight = 0
        self.leaving = 0  # bytes of a storage that is being freed
        self.text: list[str] = []
        self.runs = 0
        self.active = False
        self.failure: Exception | None = None  # what went wrong in here
        self.told: Callable[[Done], None] | None = None  # called with each step that is over

    # ---------- the open step ----------

    def _begin(self, statement: Statement) -> None:
        """The first step of a statement begins."""
        if not self.active:
            return
        if self._is_full():
            return
        self.runs += 1
        self.stack[-1].statement, self.stack[-1].run = statement, self.runs
        self._resume(Open(statement))

    def _resume(self, step: Open) -> None:
        """``step`` goes on, or begins."""
        self.open = step
        self.ledger.journal.line, self.ledger.journal.run = self.line_of(step.statement), self.stack[-1].run

    def line_of_call(self, node: Node) -> int:
        """The line of the trace that called the operation of a node, whichever line runs now."""
        code, line = self.engine.place(node)
        if id(code) not in self._codes:
            line = 0
        if code.co_filename == self.hooks.file and line:
            return line
        return self._shown.get((code.co_filename, line), self.ledger.journal.line)

    def catch_up(self) -> None:
        """Note what other threads have done."""
        raise NotImplementedError

    def steps_so_far(self) -> int:
        """The number of the step that is going on."""
        return self.ledger.journal.step

    def write(self, text: str) -> bool:
        """The program prints. False when that is not shown any more."""
        if not self.active:
            return False
        self.text.append(text)
        return True

    # ---------- a step that is over ----------

    def _finish(
        self,
        frame: FrameType | None = None,
        error: BaseException | None = None,
        partly: bool = False,
        came_back: bool = False,
    ) -> None:
        """The open step is over.

        Args:
            frame: where its function runs, when its local variables can be read.
            partly: its statement goes on.
            came_back: it was in a function that is done by now; what the caller has named since is not its doing.
        """
        step, self.open = self.open, None
        if step is None or not self.active:
            return
        ledger = self.ledger
        self.catch_up()
        ledger.update()
        line = self.line_of(step.statement)
        unfinished = partly or error is not None
        self.names.scan(self.stack, frame, lambda: self._running(unfinished), only_locals=came_back)
        ledger.graph.close_step()
        journal = ledger.journal
        if journal.events:
            ledger.tensors.add_holders()
        # Where a line goes on into backward, its first gradient belongs to backward's own first step.
        early = self.flight - self.told_flight if step.phase == "forward" and partly else 0
        alone = step.goes_on and partly and not (journal.events or journal.facts or self.text)
        if self.flight - early != self.told_flight and not alone:
            journal.events.append({"do": "flight", "bytes": self.flight})
            self.told_flight = self.flight
        events, happened = journal.close_step()
        operation_names.settle(happened)
        text = "".join(self.text)
        self.text.clear()
        if error is not None:
            raised: dict[str, Any] = {"do": "raise", "text": f"{type(error).__name__}: {error}"}
            if step.node is not None and step.node.drawn and not step.node.dead:
                raised["node"] = step.node.drawn
            events.append(raised)
        said = any(type(fact) in (changes.Hooked, changes.Unseen) for fact in happened)
        if not (events or text or said) and (step.goes_on or partly or step.statement.is_quiet):
            return
        of_gpu = self.ledger.storages.meters.reading()
        reserved = self._on_gpu[-1]["reserved"] if self._on_gpu else self.reserved_before
        phase = "backward" if any(type(fact) in (changes.Passed, changes.Hooked) for fact in happened) else step.phase
        done = Done(
            statement=step.statement,
            line=line,
            phase=phase,
            partly=partly,
            facts=happened,
            printed=bool(text),
            error=error,
            node=step.node,
            told=self.steps[-1]["say"] if self.steps else "",
            ledger=ledger,
            events=events,
            unreserved=max(0, reserved - of_gpu["reserved"]),
            reserved=of_gpu["reserved"],
        )
        if self.told is not None:
            self.told(done)
        allocated = self.engine.allocated() - early + ledger.storages.bytes_of_others_freed + self.leaving
        ledger.storages.meters.peak = max(
            ledger.storages.meters.peak, allocated
        )  # of an engine that tells of no allocation
        entry = {
            "line": line,
            "end": line + step.statement.end - step.statement.line,
            "phase": phase,
            "say": sentences.say(done),
            "allocated": allocated,
            "peak": self.ledger.storages.meters.peak,
            "events": events,
        }
        passes = self._passes()
        if passes:
            entry["passes"] = passes
        self._on_gpu.append(of_gpu)
        if text:
            entry["out"] = text
        self.steps.append(entry)
        self._told += len(events)
        self._told_bytes += len(str(events)) + min(len(text), MOST_TEXT)

    # ---------- the end ----------

    def _is_full(self) -> bool:
        """Whether no further step may be shown; then the recording ends."""
        if len(self.steps) < self.limit and self._told < MOST_EVENTS and self._told_bytes < MOST_BYTES:
            return False
        why = ""
        if len(self.steps) < self.limit:
            much = f"{self._told:,} changes of memory"
            many = self._told >= MOST_EVENTS
            why = f": they tell of {much}" if many else f": they tell of {much}, which take {self._told_bytes:,} bytes"
        self.truncated = (
            f"Only the first {len(self.steps)} steps are shown{why}. The program ran on to its end without being "
            f"recorded."
        )
        self.stop()
        return True

    def _end_in_a_step(self) -> None:
        """The open step has become too long for a picture: the recording ends before it."""
        self.truncated = (
            f"Line {self.ledger.journal.line} alone makes more than {MOST_IN_A_STEP:,} changes of memory, so the "
            f"recording ends before it. The program ran on to its end without being recorded."
        )
        self.stop()

    def _give_up(self, failure: Exception) -> None:
        """The recorder has made a mistake: the recording ends."""
        self.failure = failure
        self.truncated = (
            f"The recording stopped after this step: the recorder failed ({type(failure).__name__}: {failure}). "
            f"The program ran on."
        )
        self.stop()

    def stop(self) -> None:
        """Show no further step."""
        self.active = False
        self.open = None

    def variant(self, id_: str, label: str, verdict: str | None) -> dict[str, Any]:
        """The finished trace of this run."""
        others = self.ledger.storages.meters.start - self.ledger.storages.bytes_before
        for step, on_gpu in zip(self.steps, self._on_gpu, strict=True):
            step["allocated"] = max(0, step["allocated"] - others)
            step["peak"] = max(0, step["peak"] - others)
            if self.ledger.storages.meters.used:
                step.update(self.ledger.storages.meters.shown(on_gpu))
            if len(step.get("out", "")) > MOST_TEXT:
                left = len(step["out"]) - MOST_TEXT
                step["out"] = step["out"][:MOST_TEXT] + f"\n... and {left} characters more\n"
        steps = self.steps or [
            {"line": 1, "end": 1, "phase": "forward", "say": sentences.NOTHING, "allocated": 0, "peak": 0, "events": []}
        ]
        for event in (*self.ledger.journal.before, *(event for step in steps for event in step["events"])):
            if event.get("device") == self.ledger.storages.meters.device:
                del event["device"]  # told once, for the whole trace
        variant: dict[str, Any] = {"id": id_, "label": label, "code": self.code}
        if self.ledger.journal.before:
            variant["before"] = self.ledger.journal.before
        return {**variant, "verdict": verdict, "truncated": self.truncated, "steps": steps}
