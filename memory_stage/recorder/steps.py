"""The running step of a recording, the recorded steps, and the limits of a recording.

* A step that changed nothing is left out, unless a reader expects to see its statement.
* After a limit is reached no step is recorded, and the trace has a sentence about the limit.
* In the finished trace, ``allocated`` and ``peak`` do not count storages that are older than the recording, unless the
  trace shows them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any

from memory_stage.engines.protocol import Engine
from memory_stage.messages import Text, message
from memory_stage.messages import sentences as joined_sentences
from memory_stage.messages.message import PlacedText, lines_of, texts_of
from memory_stage.model import changes
from memory_stage.model.entries import Event, NodeEntry
from memory_stage.model.finished_step import FinishedStep, Statement
from memory_stage.model.ledger import Ledger
from memory_stage.recorder import operation_names
from memory_stage.recorder.names import Names
from memory_stage.recorder.other_threads import OtherThreads
from memory_stage.recorder.source import ProgramSource
from memory_stage.recorder.stack import Stack
from memory_stage.sentences import sentences

MOST_TEXT = 2000  # the largest number of characters of printed text that one step shows
MOST_EVENTS = 60_000  # the largest number of events of a recording, which take about 10 MB of a page
# the largest number of events of one step; a picture of more events takes seconds to draw and cannot be read
MOST_IN_A_STEP = 8_000
# the largest number of characters of a recording: its events, as text, plus the printed text
MOST_CHARACTERS = 20_000_000


@dataclass
class OpenStep:
    """The running step.

    Attributes:
        continues: True if the statement began in an earlier step.
        node: the node that backward passes through.
    """

    statement: Statement
    phase: str = "forward"
    continues: bool = False
    node: NodeEntry | None = None


_RAN_ON = message("The program ran on to its end without being recorded.")


class Steps:
    """The steps of a recording.

    Attributes:
        recorded: the finished steps, in the form that a trace has.
        open: the running step.
        active: True while steps are recorded.
        truncated: sentences that say why the recording ended before the program did, or None.
        failure: the error in the recorder that ended the recording, or None.
        in_flight: the bytes of gradients that backward() has computed and not yet passed on.
        being_freed: the bytes of a storage that the engine is freeing. A step that ends now still counts them.
        on_step: called with each finished step.
        part: a description of the recorded part of the run; "" if the whole run is recorded.
    """

    def __init__(
        self,
        engine: Engine,
        ledger: Ledger,
        names: Names,
        source: ProgramSource,
        stack: Stack,
        threads: OtherThreads,
        limit: int,
    ) -> None:
        self.recorded: list[dict[str, Any]] = []
        self.open: OpenStep | None = None
        self.active = False
        self.truncated: Text | None = None
        self.failure: Exception | None = None
        self.in_flight = 0
        self.being_freed = 0
        self.part: Text = ""
        self.on_step: Callable[[FinishedStep], None] | None = None
        self.ledger = ledger
        self._engine = engine
        self._names = names
        self._source = source
        self._stack = stack
        self._threads = threads
        self._limit = limit
        self._statements_run = 0
        self._printed: list[str] = []
        self._shown_in_flight = 0
        self._gpu_readings: list[dict[str, int]] = []  # the counters of the GPU at the end of each step
        self._reserved_before = 0
        self._events = self._characters = 0  # the counts over all recorded steps, for the limits

    # ---------- the running step ----------

    def start(self) -> None:
        """Begin the recording."""
        self.active = True
        self.ledger.storages.meters.begin()  # not earlier: storages freed before the recording have no event
        self._reserved_before = self.ledger.storages.meters.reading()["reserved"]

    def begin(self, statement: Statement) -> None:
        """Begin the first step of a statement, unless a limit has been reached."""
        if not self.active or self.end_if_full():
            return
        self._statements_run += 1
        self._stack.top.statement, self._stack.top.run = statement, self._statements_run
        self.resume(OpenStep(statement))

    def resume(self, step: OpenStep) -> None:
        """Make ``step`` the running step: a new one, or one that a call has interrupted."""
        self.open = step
        journal = self.ledger.journal
        journal.line, journal.run = self._source.line_of(step.statement), self._stack.top.run

    @property
    def statement(self) -> Statement | None:
        """The statement of the running step or, without a running step, of the running function."""
        return self.open.statement if self.open else self._stack.top.statement

    def write(self, text: str) -> bool:
        """Add printed text to the running step; return False if no recording is active."""
        if self.active:
            self._printed.append(text)
        return self.active

    def finish(
        self,
        frame: FrameType | None = None,
        error: BaseException | None = None,
        partly: bool = False,
        has_returned: bool = False,
    ) -> None:
        """Finish the running step.

        Args:
            frame: the frame of the running function, if its local variables can be read.
            partly: True if the statement continues in a later step.
            has_returned: True if the step ended because its function returned. Names that the caller bound after the
                return belong to the next step.
        """
        step, self.open = self.open, None
        if step is None or not self.active:
            return
        ledger, journal = self.ledger, self.ledger.journal
        self._threads.apply()
        ledger.update()
        running = partly or error is not None
        self._names.scan(self._stack, frame, lambda: self._stack.lines(with_top=running), only_locals=has_returned)
        ledger.graph.close_step()
        if journal.events:
            ledger.tensors.add_holders()
        # If the statement continues with backward, the first gradient is already computed, but it belongs to the first
        # step of backward.
        early = self.in_flight - self._shown_in_flight if step.phase == "forward" and partly else 0
        is_empty = step.continues and partly and not (journal.events or journal.facts or self._printed)
        if self.in_flight - early != self._shown_in_flight and not is_empty:
            journal.events.append({"do": "flight", "bytes": self.in_flight})
            self._shown_in_flight = self.in_flight
        events, facts = journal.close_step()
        operation_names.settle(facts)
        printed = "".join(self._printed)
        self._printed.clear()
        if error is not None:
            events.append(_error_event(error, step.node))
        in_backward = any(type(fact) in (changes.Passed, changes.HookReturned) for fact in facts)
        has_sentence = any(type(fact) in (changes.HookReturned, changes.Unseen) for fact in facts)
        if not (events or printed or has_sentence) and (step.continues or partly or step.statement.is_quiet):
            return
        gpu = ledger.storages.meters.reading()
        reserved = self._gpu_readings[-1]["reserved"] if self._gpu_readings else self._reserved_before
        done = FinishedStep(
            statement=step.statement,
            line=self._source.line_of(step.statement),
            phase="backward" if in_backward else step.phase,
            partly=partly,
            facts=facts,
            printed=bool(printed),
            error=error,
            node=step.node,
            previous=str(self.recorded[-1]["say"]) if self.recorded else "",
            ledger=ledger,
            events=events,
            unreserved=max(0, reserved - gpu["reserved"]),
            reserved=gpu["reserved"],
        )
        if self.on_step is not None:
            self.on_step(done)
        self._add(done, gpu, self._engine.allocated() - early + self.being_freed, printed)

    def _add(self, done: FinishedStep, gpu: dict[str, int], allocated: int, printed: str) -> None:
        storages = self.ledger.storages
        allocated += storages.bytes_of_others_freed
        storages.meters.peak = max(storages.meters.peak, allocated)  # an engine may emit no event for an allocation
        step = {
            "line": done.line,
            "end": done.line + done.statement.end - done.statement.line,
            "phase": done.phase,
            "say": sentences.say(done),
            "allocated": allocated,
            "peak": storages.meters.peak,
            "events": done.events,
        }
        if passes := self._stack.passes():
            step["passes"] = passes
        if printed:
            step["out"] = printed
        self.recorded.append(step)
        self._gpu_readings.append(gpu)
        self._events += len(done.events)
        self._characters += len(str(done.events)) + min(len(printed), MOST_TEXT)

    # ---------- the end ----------

    def end_if_full(self) -> bool:
        """End the recording and return True if a limit has been reached; else return False."""
        count = len(self.recorded)
        if count < self._limit and self._events < MOST_EVENTS and self._characters < MOST_CHARACTERS:
            return False
        steps = message("{count} steps", count=count)
        if self.part:
            steps = message("{count} steps of {part}", count=count, part=self.part)
        first = message("Only the first {steps} are shown.", steps=steps)
        if count < self._limit and self._events < MOST_EVENTS:
            first = message(
                "Only the first {steps} are shown: their {changes} changes of memory and their printed text have "
                "{characters} characters.",
                steps=steps,
                changes=f"{self._events:,}",
                characters=f"{self._characters:,}",
            )
        elif count < self._limit:
            first = message(
                "Only the first {steps} are shown: they describe {changes} changes of memory.",
                steps=steps,
                changes=f"{self._events:,}",
            )
        self.end(joined_sentences([first, _RAN_ON]))
        return True

    def end_if_too_long(self) -> bool:
        """End the recording and return True if the running step has too many events for a picture; else return False.

        The running step is left out of the recording.
        """
        if len(self.ledger.journal.events) <= MOST_IN_A_STEP:
            return False
        first = message(
            "Line {line} alone makes more than {count} changes of memory, so the recording ends before it.",
            line=self.ledger.journal.line,
            count=f"{MOST_IN_A_STEP:,}",
        )
        self.end(joined_sentences([first, _RAN_ON]))
        return True

    def fail(self, failure: Exception) -> None:
        """End the recording because of an error in the recorder."""
        self.failure = failure
        self.end(
            message(
                "The recording stopped after this step: the recorder failed ({error}). The program ran on.",
                error=f"{type(failure).__name__}: {failure}",
            )
        )

    def end(self, why: Text | None = None) -> None:
        """End the recording."""
        self.truncated = why or self.truncated
        self.active = False
        self.open = None

    def variant(self, id_: str, label: str, verdict: Text | None) -> tuple[dict[str, Any], list[PlacedText]]:
        """Return the trace of this run in English, and its texts.

        Call this once, because it completes the recorded steps in place.
        """
        journal, meters = self.ledger.journal, self.ledger.storages.meters
        not_shown = meters.start - self.ledger.storages.bytes_before
        for step, gpu in zip(self.recorded, self._gpu_readings, strict=True):
            step["allocated"] = max(0, step["allocated"] - not_shown)
            step["peak"] = max(0, step["peak"] - not_shown)
            if meters.used:
                step.update(meters.shown(gpu))
            if len(step.get("out", "")) > MOST_TEXT:
                more = message("... and {count} characters more", count=len(step["out"]) - MOST_TEXT)
                step["out"] = message("{printed}\n{more}\n", printed=step["out"][:MOST_TEXT], more=more)
        steps = self.recorded or [
            {"line": 1, "end": 1, "phase": "forward", "say": sentences.NOTHING, "allocated": 0, "peak": 0, "events": []}
        ]
        events = [*journal.before, *(event for step in steps for event in step["events"])]
        for event in events:
            if event.get("device") == meters.device:
                del event["device"]  # the trace names this device once, as the default of all storages
        code, placed = lines_of(self._source.lines)
        variant: dict[str, Any] = {"id": id_, "label": label, "code": code}
        if journal.before:
            variant["before"] = journal.before
        variant |= {"verdict": verdict, "truncated": self.truncated, "steps": steps}
        placed += texts_of(steps, ("say", "out")) + texts_of(events, ("label", "holder", "what"))
        return variant, placed + texts_of([variant], ("verdict", "truncated"))


def _error_event(error: BaseException, node: NodeEntry | None) -> Event:
    event: Event = {"do": "raise", "text": f"{type(error).__name__}: {error}"}
    if node is not None and node.drawn and not node.dead:
        event["node"] = node.drawn
    return event
