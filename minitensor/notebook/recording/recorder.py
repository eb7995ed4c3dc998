"""Listens to a running program and cuts what it hears into steps.

It hears the program's hooks (``hooks``) and the engine's events. A step ends where the next statement of the same
function begins, where a function is called or comes back, where backward goes on to the next node, and where an error
is raised. A step in which nothing happened is left out, unless it is a statement that a reader would miss.
"""

from __future__ import annotations

import inspect
import linecache
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from minitensor.device.counters import cpu_meter
from minitensor.events import Hearing
from minitensor.history import Leaf, Node
from minitensor.notebook.recording import backsteps, facts, hooks, names
from minitensor.notebook.recording.hooks import Hooks, Statement
from minitensor.notebook.recording.ledger import Ledger
from minitensor.notebook.wording import sentences
from minitensor.storage import Storage

MOST_TEXT = 2000  # characters of printed text shown with one step


@dataclass
class Activation:
    """The top level of the program, or a function of the notebook that is running."""

    function: str
    frame: int  # id; 0 for the top level
    code: CodeType | None = None  # that it runs: a later frame may get the id of one that is gone
    statement: Statement | None = None
    run: int = 0  # number of the statement's execution
    passes: dict[int, int] = field(default_factory=dict)  # of its loops, by the hook of their heads
    names: dict[str, Any] = field(default_factory=dict)  # local name -> TensorEntry
    full_name: str = ""  # with the class that the function is a method of
    is_generator: bool = False


@dataclass
class Open:
    """The step that is going on."""

    statement: Statement
    phase: str = "forward"
    goes_on: bool = False  # not the first step of its statement
    node: Any = None  # the NodeEntry that backward passes through


class _Ear(Hearing):
    """Hears the engine for a recorder. Other listeners may open and close meanwhile, in any order."""

    def __init__(self, tell: Callable[..., None]) -> None:
        self.tell = tell

    def hear(self, kind: str, *arguments: Any) -> None:
        """What has happened."""
        self.tell(kind, *arguments)


def _to_nobody(kind: str, *arguments: Any) -> None:
    """In place of a recorder that has stopped."""


class Recorder:
    """Listens to the hooks of a program and to the engine, and cuts what they tell into steps."""

    def __init__(self, source: str, file: str, namespace: dict[str, Any], ignore: frozenset[str], limit: int) -> None:
        self.hooks = Hooks(source, file)
        self.limit = limit
        self.code = source.splitlines() or [""]
        self.ledger = Ledger()
        self.names = names.Names(namespace, self.ledger, ignore)
        self.steps: list[dict[str, Any]] = []
        self._on_gpu: list[dict[str, int]] = []  # what the GPU's meter said at the end of each step
        self.reserved_before = 0
        self.truncated: str | None = None
        self.open: Open | None = None
        self.stack = [Activation("", 0)]
        self.statements = self.hooks.statements
        self.flight = self.told_flight = 0
        self.leaving = 0  # bytes of a storage that is being freed
        self.text: list[str] = []
        self.runs = 0
        self.reported: int | None = None  # id of the error last told
        self.active = False
        self._ear = _Ear(self.heard)
        self._hooks_before: Any = None
        self.asked: set[str] = set()  # files of the functions that the caller asked for by themselves
        self._codes: dict[int, Hooks] = {}
        self._keep: list[CodeType] = []  # so that the ids above stay theirs
        self.failure: Exception | None = None  # what went wrong in here
        self._shown: dict[tuple[str, int], int] = {}  # line of another cell -> line of the trace

    # ---------- beginning and end ----------

    def begin(self) -> None:
        """Note what is there, and listen."""
        self.names.scan(self.stack)
        self.ledger.gone, self.ledger.line_of_call = self.gone, self.line_of_call
        self.ledger.begin()
        self.active = True
        self._hooks_before = hooks.listener
        self.reserved_before = self.ledger.meters.reading()["reserved"]
        self.ledger.meters.begin()  # only now: what is freed from here on is heard of
        self._ear.open()
        hooks.listener = self.hooked

    def stop(self) -> None:
        """Listen no more."""
        self.ledger.stop()
        self._ear.close()
        self._ear.tell = _to_nobody  # a listener above may lead here still
        if hooks.listener == self.hooked:
            hooks.listener = self._hooks_before
        self.active = False
        self.open = None

    @property
    def hooked_functions(self) -> list[CodeType]:
        """The functions that the program itself defines."""
        return [code for code in self._keep if self._codes[id(code)] is self.hooks and code.co_name != "<module>"]

    def know(self, code: CodeType, of: Hooks) -> None:
        """``code`` has hooks."""
        for each in (code, *hooks.functions_in(code)):
            self._codes[id(each)] = of
            self._keep.append(each)

    # ---------- statements ----------

    def begin_statement(self, statement: Statement) -> None:
        """A statement of the top level is about to run."""
        self.reported = None
        self.stack[0].passes.clear()
        self._begin(statement)

    def end_statement(self, error: BaseException | None = None) -> None:
        """It has run, or raised ``error``."""
        if not self.active:
            return
        if error is not None:
            if id(error) != self.reported:
                self._finish(error=error)
                self.reported = id(error)
            del self.stack[1:]
        self._back_to(0)
        self._finish()

    def hooked(self, index: int, moment: str) -> None:
        """A hook was reached: the statement before it in the same frame is done."""
        statement = self.statements.get(index)
        if statement is None:
            return
        try:
            self._reached(index, statement, moment, sys._getframe(2))
        except Exception as failure:
            self._give_up(failure)

    def _reached(self, index: int, statement: Statement, moment: str, frame: FrameType) -> None:
        error = sys.exc_info()[1]
        if id(error) != self.reported:
            self.reported = None  # the error last told is over; another one may get its id
        if moment == "enter":
            self._enter(statement, frame)
        elif moment == "caught":
            if error is not None and self.reported is None:
                self._finish(error=error)
                self.reported = id(error)
                self._come_to(frame, silently=True)
        else:
            self._come_to(frame)
            self._finish(frame)
            passes = self.stack[-1].passes
            if moment == "turn":
                passes[index] = passes.get(index, 0) + 1
                return
            if moment == "before":
                passes.pop(index, None)
            self._begin(statement)

    def _begin(self, statement: Statement) -> None:
        if not self.active:
            return
        if self._is_full():
            return
        self.runs += 1
        self.stack[-1].statement, self.stack[-1].run = statement, self.runs
        self._resume(Open(statement))

    def _is_full(self) -> bool:
        """Whether no further step may be shown; then the recording ends."""
        if len(self.steps) < self.limit:
            return False
        self.truncated = (
            f"Only the first {self.limit} steps are shown. The program ran on to its end without being recorded."
        )
        self.stop()
        return True

    def _resume(self, step: Open) -> None:
        self.open = step
        self.ledger.line, self.ledger.run = self.line_of(step.statement), self.stack[-1].run

    def _enter(self, statement: Statement, frame: FrameType) -> None:
        """A function of the notebook begins."""
        caller = frame.f_back
        while caller is not None and id(caller.f_code) not in self._codes:
            caller = caller.f_back
        if caller is not None:
            self._come_to(caller)
        self._show_source(statement)
        of_class = f"{statement.function}." if statement.function and statement.kind == "method" else ""
        self._push(frame, of_class)
        if self.open is None and self.stack[-2].statement is not None:
            self.open = Open(self.stack[-2].statement, goes_on=True)
        self.ledger.facts.append(facts.Called(self.stack[-1].full_name))
        self._finish(frame, partly=True)

    def _push(self, frame: FrameType, of_class: str = "") -> None:
        """``frame`` begins, or goes on as a generator does."""
        code = frame.f_code
        generates = bool(code.co_flags & inspect.CO_GENERATOR)
        self.stack.append(
            Activation(code.co_name, id(frame), code, full_name=of_class + code.co_name, is_generator=generates)
        )

    def _come_to(self, frame: FrameType, silently: bool = False) -> None:
        """``frame`` runs: what was called from it has come back."""
        depth = self._depth(frame)
        if depth is None:
            self._push(frame)
            return
        self._back_to(depth, silently)

    def _back_to(self, depth: int, silently: bool = False) -> None:
        if depth == len(self.stack) - 1:
            return
        returned = facts.Returned(self.stack[depth + 1].full_name, self.stack[depth + 1].is_generator)
        if not silently:
            self._finish(partly=True, came_back=True)
        del self.stack[depth + 1 :]
        if not silently and self.stack[depth].statement is not None:
            self._resume(Open(self.stack[depth].statement, goes_on=True))
            self.ledger.facts.append(returned)

    def _depth(self, frame: FrameType) -> int | None:
        if not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            return 0
        for depth in range(len(self.stack) - 1, 0, -1):
            if self.stack[depth].frame == id(frame) and self.stack[depth].code is frame.f_code:
                return depth
        return None

    # ---------- the engine ----------

    def heard(self, kind: str, *arguments: Any) -> None:
        """The engine tells what has happened."""
        if not self.active:
            return
        try:
            if kind != "flight" or self.flight:
                # The first gradient is told of just before backward's own first step, to which it belongs.
                self.ledger.meters.heard(self.ledger.bytes_of_others_freed)
            if kind == "free" and not self.ledger.knows(arguments[0]):
                self.ledger.free(arguments[0])  # the collector may find what was there before, at any time
                return
            # A step that ends where this storage is freed ends before.
            self.leaving = arguments[0].nbytes if kind == "free" and type(arguments[0]) is Storage else 0
            self._locate(sys._getframe(1))
            self.leaving = 0
            self._note(kind, *arguments)
        except Exception as failure:
            self._give_up(failure)

    def gone(self, tell: Callable[[], None]) -> None:
        """The interpreter frees a tensor or a node."""
        try:
            self._locate(sys._getframe(1))
            tell()
        except Exception as failure:
            self._give_up(failure)

    def _give_up(self, failure: Exception) -> None:
        self.failure = failure
        self.truncated = (
            f"The recording stopped after this step: the recorder failed ({type(failure).__name__}: {failure}). "
            f"The program ran on."
        )
        self.stop()

    def _note(self, kind: str, *arguments: Any) -> None:
        ledger = self.ledger
        if kind == "alloc":
            ledger.alloc(*arguments)
        elif kind == "free":
            ledger.free(*arguments)
        elif kind == "make":
            ledger.made(*arguments)
        elif kind == "view":
            ledger.viewed(*arguments)
        elif kind == "taken":
            ledger.taken(*arguments)
        elif kind == "write":
            ledger.wrote(*arguments)
        elif kind == "meta":
            ledger.relaid(*arguments)
        elif kind in ("refused", "stale"):
            ledger.facts.append(facts.Refused(arguments[1]))
        elif kind == "flight":
            self.flight += arguments[0]
        elif kind in ("start", "enter", "visit", "left", "leaf"):
            self._backward(kind, *arguments)

    def _locate(self, frame: FrameType | None) -> None:
        """Find the statement that the engine works for."""
        while frame is not None and id(frame.f_code) not in self._codes:
            frame = frame.f_back
        if frame is None or self._depth(frame) is None:
            return
        self._come_to(frame)
        line, of = frame.f_lineno, self._codes[id(frame.f_code)]
        now = self.open.statement if self.open else None
        if now is None or now.line <= line <= now.end:
            return
        head = of.statements.get(of.heads.get(line, -1))
        if head is not None and head is not now:
            self._finish(frame)
            self._begin(head)

    def _backward(self, kind: str, node: Node, *arguments: Any) -> None:
        ledger = self.ledger
        if kind == "leaf":
            backsteps.collected(ledger, node, arguments[0])
            return
        if type(node) is Leaf:
            return
        if kind == "visit":
            backsteps.visited(ledger, node, *arguments)
            return
        statement = self.open.statement if self.open else self.stack[-1].statement
        if kind == "left":
            backsteps.left(ledger, node)
        self._finish(partly=True)
        if not self.active or statement is None or self._is_full():
            return
        self.open = Open(statement, "backward", goes_on=True)
        if kind == "start":
            backsteps.started(ledger, node, arguments[0])
        elif kind == "enter":
            self.open.node = backsteps.entered(ledger, node, arguments[0])

    # ---------- steps ----------

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
        ledger.look()
        line = self.line_of(step.statement)
        running = self._running(partly or error is not None)
        self.names.scan(self.stack, frame, running, only_locals=came_back)
        ledger.tidy()
        # Where a line goes on into backward, its first gradient belongs to backward's own first step.
        early = self.flight - self.told_flight if step.phase == "forward" and partly else 0
        alone = step.goes_on and partly and not (ledger.events or ledger.facts or self.text)
        if self.flight - early != self.told_flight and not alone:
            ledger.events.append({"do": "flight", "bytes": self.flight})
            self.told_flight = self.flight
        events, happened = ledger.close_step()
        text = "".join(self.text)
        self.text.clear()
        if error is not None:
            raised: dict[str, Any] = {"do": "raise", "text": f"{type(error).__name__}: {error}"}
            if step.node is not None and step.node.drawn and not step.node.dead:
                raised["node"] = step.node.drawn
            events.append(raised)
        if not (events or text) and (step.goes_on or partly or step.statement.is_quiet):
            return
        of_gpu = self.ledger.meters.reading()
        reserved = self._on_gpu[-1]["reserved"] if self._on_gpu else self.reserved_before
        phase = "backward" if any(type(fact) is facts.Passed for fact in happened) else step.phase
        done = facts.Done(
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
        entry = {
            "line": line,
            "end": line + step.statement.end - step.statement.line,
            "phase": phase,
            "say": sentences.say(done),
            "allocated": cpu_meter.allocated - early + ledger.bytes_of_others_freed + self.leaving,
            "peak": self.ledger.meters.peak,
            "events": events,
        }
        passes = self._passes()
        if passes:
            entry["passes"] = passes
        self._on_gpu.append(of_gpu)
        if text:
            entry["out"] = text
        self.steps.append(entry)

    def _passes(self) -> list[list[int]]:
        """The loops that the program is in, as lines of their heads, and the pass of each."""
        return [
            [self.line_of(self.statements[loop]), activation.passes[loop]]
            for activation in self.stack
            for loop in (activation.statement.loops if activation.statement is not None else ())
            if loop in activation.passes
        ]

    def _running(self, last_too: bool) -> dict[int, str]:
        stack = self.stack if last_too else self.stack[:-1]
        return {each.run: f"line {self.line_of(each.statement)}" for each in stack if each.statement is not None}

    def line_of(self, statement: Statement) -> int:
        """The line of the trace: of the program, or of the source of a function defined elsewhere."""
        if statement.file == self.hooks.file:
            return statement.line
        return self._shown.get((statement.file, statement.line), 1)

    def line_of_call(self, node: Node) -> int:
        """The line of the trace that called the operation of a node, whichever line runs now."""
        number = node.place.line if id(node.code) in self._codes else 0
        if node.code.co_filename == self.hooks.file and number:
            return number
        return self._shown.get((node.code.co_filename, number), self.ledger.line)

    def _show_source(self, statement: Statement) -> None:
        """Put the source of a function of an earlier cell below the program."""
        if statement.file == self.hooks.file or (statement.file, statement.line) in self._shown:
            return
        lines = linecache.getlines(statement.file)
        last = statement.line
        body = [line.rstrip("\n") for line in inspect.getblock(lines[statement.line - 1 :])]
        self.code += [""] if statement.file in self.asked else ["", "# from an earlier cell"]
        for text in body:
            self.code.append(text)
            self._shown[statement.file, last] = len(self.code)
            last += 1

    def write(self, text: str) -> bool:
        """The program prints. False when that is not shown any more."""
        if not self.active:
            return False
        self.text.append(text)
        return True

    def variant(self, id_: str, label: str, verdict: str | None) -> dict[str, Any]:
        """The finished trace of this run."""
        others = self.ledger.meters.start - self.ledger.bytes_before
        for step, on_gpu in zip(self.steps, self._on_gpu, strict=True):
            step["allocated"] = max(0, step["allocated"] - others)
            step["peak"] = max(0, step["peak"] - others)
            if self.ledger.meters.used:
                step.update(on_gpu)
            if len(step.get("out", "")) > MOST_TEXT:
                left = len(step["out"]) - MOST_TEXT
                step["out"] = step["out"][:MOST_TEXT] + f"\n... and {left} characters more\n"
        steps = self.steps or [
            {"line": 1, "end": 1, "phase": "forward", "say": sentences.NOTHING, "allocated": 0, "peak": 0, "events": []}
        ]
        for event in (*self.ledger.before, *(event for step in steps for event in step["events"])):
            if event.get("device") == self.ledger.meters.device:
                del event["device"]  # told once, for the whole trace
        variant: dict[str, Any] = {"id": id_, "label": label, "code": self.code}
        if self.ledger.before:
            variant["before"] = self.ledger.before
        return {**variant, "verdict": verdict, "truncated": self.truncated, "steps": steps}
